package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Bounds of what one row holds.
const (
	maxParticipants = 64
	maxMessageBytes = 1_000
)

// session is one row of work_sessions.
type session struct {
	id             int64
	name           string
	start, last    float64
	latestSeq      int64
	latestTerminal bool
	events         int64
	byRole         [4]int64 // in the order of coordination.Roles
	threads        int64
	openThreads    int64
	openTasks      int64
	blockedTasks   int64
	byOutcome      [5]int64 // in the order of outcomes
	tally          tally
	kinds          []kindCount
	participants   []Participant
	title          string
	titleRank      int64
	titleTime      float64
	message        lastMessage
	reason         string
	previous       string

	listed *listed // what the listing tables hold of it; nil: not looked at in this round
}

// kindCount counts the events of one kind within a session.
type kindCount struct {
	kind        int64
	n           int64
	first, last float64
}

// Participant is somebody who took part in a work session.
type Participant struct {
	Agent string                   `json:"agent"`
	Name  string                   `json:"name,omitempty"` // display name, where the configuration gives one
	Type  coordination.SessionType `json:"type"`
}

// lastMessage is the newest event of a session that says something, as it was said: who shows it cleans it.
type lastMessage struct {
	From string  `json:"from,omitempty"`
	To   string  `json:"to,omitempty"`
	Text string  `json:"text,omitempty"`
	Type string  `json:"type,omitempty"`
	Time float64 `json:"time,omitempty"`
	Seq  int64   `json:"seq,omitempty"`
}

// outcomes in the order of the counts.
var outcomes = [5]coordination.Outcome{coordination.OutcomeWaiting, coordination.OutcomeActive, coordination.OutcomeBlocked,
	coordination.OutcomeNoReply, coordination.OutcomeDone}

var roles = coordination.Roles()

func newSession(e *projections.Event) session {
	return session{id: e.Seq, name: e.Record.WorkSessionID, start: e.Record.Time, titleRank: noTitle, title: coordination.DefaultTitle}
}

const noTitle = 99

// count adds the event to the numbers of the session.
func (s *session) count(e *projections.Event, kind int64) {
	at := e.Record.Time
	s.start = min(s.start, at)
	s.events++
	s.byRole[slices.Index(roles, e.Class.Role)]++
	i := slices.IndexFunc(s.kinds, func(k kindCount) bool { return k.kind == kind })
	if i < 0 {
		s.kinds = append(slices.Clip(s.kinds), kindCount{kind: kind, n: 1, first: at, last: at})
		return
	}
	k := &s.kinds[i]
	k.n++
	k.first, k.last = min(k.first, at), max(k.last, at)
}

// judge notes whether the latest event by time, the later one of equals, is one after which nothing is expected.
func (s *session) judge(rules coordination.Rules, e *projections.Event) {
	if newer(s.last, s.latestSeq, e.Record.Time, e.Seq) {
		return
	}
	s.last, s.latestSeq = e.Record.Time, e.Seq
	s.latestTerminal = coordination.Terminal(rules, &e.Record)
}

// vote adds the event's category to the session's tally.
func (s *session) vote(e *projections.Event) { s.tally.add(&e.Class) }

// describe keeps what people read first: title, participants, last message, the session before.
func (s *session) describe(e *projections.Event) {
	r := &e.Record
	if s.betterTitle(int64(coordination.TitleRank(r)), r.Time) {
		if c, ok := coordination.TitleOf(r, e.Roster); ok && s.betterTitle(int64(c.Priority), r.Time) {
			s.title, s.titleRank, s.titleTime = c.Text, int64(c.Priority), r.Time
		}
	}
	s.joins(r.From(), e.Class.From, e.Roster)
	s.joins(r.To(), e.Class.To, e.Roster)
	if text := coordination.MessageText(r); text != "" && !newer(s.message.Time, s.message.Seq, r.Time, e.Seq) {
		s.message = lastMessage{From: r.From(), To: r.To(), Type: e.Type, Time: r.Time, Seq: e.Seq, Text: clip(text, maxMessageBytes)}
	}
	if s.previous == "" && r.PreviousWorkSessionID != s.name {
		s.previous = r.PreviousWorkSessionID
	}
}

// betterTitle reports whether a title of that rank, from an event at that time, replaces the one held.
func (s *session) betterTitle(rank int64, time float64) bool {
	return rank < s.titleRank || rank == s.titleRank && time < s.titleTime
}

func (s *session) joins(agent string, typ coordination.SessionType, roster *coordination.Roster) {
	if agent == "" {
		return
	}
	for i := range s.participants {
		if p := &s.participants[i]; p.Agent == agent {
			if p.Type == coordination.SessionUnknown && typ != p.Type {
				s.participants = slices.Clone(s.participants)
				s.participants[i].Type = typ
			}
			return
		}
	}
	if len(s.participants) < maxParticipants {
		s.participants = append(slices.Clip(s.participants), Participant{Agent: agent, Name: roster.Name(agent), Type: typ})
	}
}

// clip cuts text to at most limit bytes, between two characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func (s *session) countTask(state string, by int64) {
	switch state {
	case coordination.StateInProgress:
		s.openTasks += by
	case coordination.StateBlocked:
		s.blockedTasks += by
	}
}

func (s *session) countOutcome(o coordination.Outcome, by int64) {
	if i := slices.Index(outcomes[:], o); i >= 0 {
		s.byOutcome[i] += by
	}
}

// signature lists the kinds of events in the session.
func (s *session) signature() string {
	ids := make([]int64, len(s.kinds))
	for i := range s.kinds {
		ids[i] = s.kinds[i].kind
	}
	slices.Sort(ids)
	return formatSignature(ids)
}

func formatSignature(ids []int64) string {
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(b)
}

func newSessions(table string) *projections.Table[string, session] {
	return projections.NewTable(projections.Columns[string, session]{
		Table: table, Key: 1, Fixed: 2, Keep: 4_000,
		Names: []string{"id", "name", "start_time", "last_time", "latest_seq", "latest_terminal", "event_count", "conversation_n",
			"delegation_n", "orchestration_n", "observability_n", "thread_count", "open_threads", "open_tasks", "blocked_tasks",
			"waiting_n", "active_n", "blocked_n", "no_reply_n", "done_n", "category", "secondary", "sub_tags", "votes", "kinds",
			"signature", "participants", "title", "title_rank", "title_time", "last_message", "reason", "previous"},
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: scanSession, Args: sessionArgs,
	})
}

func scanSession(r eventstore.Row, s *session) error {
	*s = session{
		id: r.Int(0), name: r.Text(1), start: r.Float(2), last: r.Float(3), latestSeq: r.Int(4), latestTerminal: r.Int(5) != 0,
		events: r.Int(6), byRole: [4]int64{r.Int(7), r.Int(8), r.Int(9), r.Int(10)}, threads: r.Int(11), openThreads: r.Int(12),
		openTasks: r.Int(13), blockedTasks: r.Int(14),
		byOutcome: [5]int64{r.Int(15), r.Int(16), r.Int(17), r.Int(18), r.Int(19)},
		title:     r.Text(27), titleRank: r.Int(28), titleTime: r.Float(29), reason: r.Text(31), previous: r.Text(32),
	}
	var err error
	if s.kinds, err = parseKinds(r.Text(24)); err != nil {
		return fmt.Errorf("kinds of session %d: %w", s.id, err)
	}
	for _, column := range []struct {
		i    int
		into any
	}{{23, &s.tally}, {26, &s.participants}, {30, &s.message}} {
		if err := json.Unmarshal([]byte(r.Text(column.i)), column.into); err != nil {
			return fmt.Errorf("column %d of session %d: %w", column.i, s.id, err)
		}
	}
	return nil
}

func sessionArgs(args []any, s *session) []any {
	category, secondary, tags := s.tally.result()
	return append(args, s.id, s.name, s.start, s.last, s.latestSeq, s.latestTerminal, s.events, s.byRole[0], s.byRole[1], s.byRole[2],
		s.byRole[3], s.threads, s.openThreads, s.openTasks, s.blockedTasks, s.byOutcome[0], s.byOutcome[1], s.byOutcome[2],
		s.byOutcome[3], s.byOutcome[4], string(category), toJSON(secondary), toJSON(tags), toJSON(&s.tally), formatKinds(s.kinds),
		s.signature(), toJSON(s.participants), s.title, s.titleRank, s.titleTime, toJSON(&s.message), s.reason, s.previous)
}

// formatKinds writes [[kind, events, first time, last time], ...].
func formatKinds(kinds []kindCount) string {
	b := []byte{'['}
	for i, k := range kinds {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, k.kind, 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, k.n, 10)
		b = append(b, ',')
		b = strconv.AppendFloat(b, k.first, 'f', -1, 64)
		b = append(b, ',')
		b = strconv.AppendFloat(b, k.last, 'f', -1, 64)
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

func parseKinds(text string) ([]kindCount, error) {
	var rows [][4]float64
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, err
	}
	kinds := make([]kindCount, len(rows))
	for i, r := range rows {
		kinds[i] = kindCount{kind: int64(r[0]), n: int64(r[1]), first: r[2], last: r[3]}
	}
	return kinds, nil
}

// toJSON marshals what always can be; nil lists become [].
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err))
	}
	if string(b) == "null" {
		return "[]"
	}
	return string(b)
}
