package conversations

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// profile is one row of session_profiles: the description of a work session. It changes rarely.
type profile struct {
	id           int64
	title        string
	titleRank    int64
	titleTime    float64
	participants []Participant
	previous     string
}

// Participant is an agent or a person that took part in a work session.
type Participant struct {
	Agent string                   `json:"agent"`
	Name  string                   `json:"name,omitempty"` // display name, if configured
	Type  coordination.SessionType `json:"type"`
}

// maxParticipants bounds the participants of one session.
const maxParticipants = 64

// noTitle is the rank of a session that has only the default title.
const noTitle = 99

// profile updates the description of the session with one more event. The row is only written when it changes.
func (p *projector) profile(tx eventstore.Tx, e *projections.Event, s *session) error {
	var f *profile
	if !s.isNew() {
		var err error
		if f, err = p.profiles.Get(tx, s.id); err != nil {
			return err
		}
	}
	now := profile{id: s.id, title: coordination.DefaultTitle, titleRank: noTitle}
	if f != nil {
		now = *f
	}
	changed := f == nil
	changed = now.entitle(e) || changed
	changed = now.join(e.Record.From(), e.Class.From, e.Roster) || changed
	changed = now.join(e.Record.To(), e.Class.To, e.Roster) || changed
	if previous := e.Record.PreviousWorkSessionID; now.previous == "" && previous != "" && previous != s.name {
		now.previous, changed = previous, true
	}
	if !changed {
		return nil
	}
	p.enrol(s, f, &now)
	edit := p.profiles.Edit
	if f == nil {
		edit = p.profiles.EditNew
	}
	f, _, err := edit(tx, s.id)
	if err == nil {
		*f = now
	}
	return err
}

// enrol adds the agents that joined the session to those by whom it is found. Two spellings of an id are one agent there.
func (p *projector) enrol(s *session, before, now *profile) {
	known := 0
	if before != nil {
		known = len(before.participants)
	}
	for i := known; i < len(now.participants); i++ {
		agent := MemberID(now.participants[i].Agent)
		if !slices.ContainsFunc(now.participants[:i], func(p Participant) bool { return MemberID(p.Agent) == agent }) {
			p.members.Add(agent, s.id)
		}
	}
}

// MemberID is the spelling of an agent's id in session_members.
func MemberID(agent string) string { return strings.ToLower(agent) }

// entitle uses the event's title if it ranks higher than the current one.
func (f *profile) entitle(e *projections.Event) bool {
	better := func(rank int) bool {
		return int64(rank) < f.titleRank || int64(rank) == f.titleRank && e.Record.Time < f.titleTime
	}
	if !better(coordination.TitleRank(&e.Record)) {
		return false
	}
	c, ok := coordination.TitleOf(&e.Record, e.Roster)
	if !ok || !better(c.Priority) {
		return false
	}
	f.title, f.titleRank, f.titleTime = c.Text, int64(c.Priority), e.Record.Time
	return true
}

// join adds an agent to the participants, or adds the type of its session.
func (f *profile) join(agent string, typ coordination.SessionType, roster *coordination.Roster) bool {
	if agent == "" {
		return false
	}
	i := slices.IndexFunc(f.participants, func(p Participant) bool { return p.Agent == agent })
	switch {
	case i >= 0 && (f.participants[i].Type != coordination.SessionUnknown || typ == coordination.SessionUnknown):
		return false
	case i >= 0:
		f.participants = slices.Clone(f.participants)
		f.participants[i].Type = typ
		return true
	case len(f.participants) >= maxParticipants:
		return false
	}
	p := Participant{Agent: agent, Type: typ}
	if name := roster.Name(agent); name != agent {
		p.Name = name
	}
	f.participants = append(slices.Clip(f.participants), p)
	return true
}

func newProfiles(table string) *projections.Table[int64, profile] {
	return projections.NewTable(projections.Columns[int64, profile]{
		Table: table, Names: []string{"id", "title", "title_rank", "title_time", "participants", "previous"}, Key: 1, Fixed: 1,
		Keep: 4_000, Lookup: "id = ?", LookUp: func(id int64) []any { return []any{id} },
		Scan: func(r eventstore.Row, f *profile) error {
			*f = profile{id: r.Int(0), title: r.Text(1), titleRank: r.Int(2), titleTime: r.Float(3), previous: r.Text(5)}
			if err := json.Unmarshal([]byte(r.Text(4)), &f.participants); err != nil {
				return fmt.Errorf("participants of session %d: %w", f.id, err)
			}
			return nil
		},
		Args: func(args []any, f *profile) []any {
			return append(args, f.id, f.title, f.titleRank, f.titleTime, projections.JSONList(f.participants), f.previous)
		},
	})
}
