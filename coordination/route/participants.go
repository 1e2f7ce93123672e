package route

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Attendance holds the participants of threads, by thread id. Apply folds it. An agent participates from its registration until the
// thread was silent for the policy's ttl, with or without an event of the end.
//
// A nil Attendance means unknown participants, unlike an empty one.
type Attendance map[string]Thread

type Thread struct {
	LastAt int64               `json:"lastAt"` // last message or registration, ms since 1970
	Agents map[string]Attended `json:"agents,omitempty"`
}

// Attended is since when an agent participates, ms since 1970, and the longest silence since, in ms.
type Attended struct {
	Since   int64 `json:"since"`
	Silence int64 `json:"silence,omitempty"`
}

// Clone returns an independent copy.
func (p Attendance) Clone() Attendance {
	next := maps.Clone(p)
	for id, t := range next {
		t.Agents = maps.Clone(t.Agents)
		next[id] = t
	}
	return next
}

// Of lists the participants of a thread at a time, in order.
func (p Attendance) Of(thread string, at int64, ttl time.Duration) []string {
	present, _ := p[thread].at(at, ttl)
	return present
}

// at separates participants from those that expired without an event, both in order.
func (t Thread) at(at int64, ttl time.Duration) (present, lapsed []string) {
	longest := ttl.Milliseconds()
	for agent, a := range t.Agents {
		if max(a.Silence, at-t.LastAt) < longest {
			present = append(present, agent)
		} else {
			lapsed = append(lapsed, agent)
		}
	}
	slices.Sort(present)
	slices.Sort(lapsed)
	return present, lapsed
}

// Due returns the events of participants that have expired at a time, in order, and when the next one expires without a message: 0 for
// none.
func (p Attendance) Due(at int64, ttl time.Duration) (events []Event, next int64) {
	for _, id := range slices.Sorted(maps.Keys(p)) {
		present, lapsed := p[id].at(at, ttl)
		for _, agent := range lapsed {
			events = append(events, expired(id, agent, at))
		}
		if end := p[id].LastAt + ttl.Milliseconds(); len(present) > 0 && (next == 0 || end < next) {
			next = end
		}
	}
	return events, next
}

// Collaborating returns the events of an agent's request to another in a thread: both become participants.
func (p Attendance) Collaborating(thread string, from, to Bot, at int64, ttl time.Duration) (events []Event) {
	present := p.Of(thread, at, ttl)
	for _, b := range []Bot{from, to} {
		if b.Agent != "" && !slices.Contains(present, b.Agent) {
			events = append(events, registered(thread, Enrolment{Agent: b.Agent, BotUserID: b.UserID, Reason: EnrolCollaborate}, at))
			present = append(present, b.Agent)
		}
	}
	return events
}

func registered(thread string, e Enrolment, at int64) Event {
	return Event{Type: coordination.TypeThreadParticipantRegistered, AgentID: e.Agent, At: at, Data: coordination.ThreadParticipant{
		Context: ours(), ThreadID: thread, AgentID: e.Agent, BotUserID: e.BotUserID, Reason: string(e.Reason)}}
}

func expired(thread, agent string, at int64) Event {
	return Event{Type: coordination.TypeThreadParticipantExpired, AgentID: agent, At: at,
		Data: coordination.ThreadParticipant{Context: ours(), ThreadID: thread, AgentID: agent, Reason: "silence"}}
}

// Apply folds an event and reports whether its type has a meaning here. ts is ms since 1970. An event that cannot be read is an error
// and changes nothing; redacted data (nil) means nothing. p must not be nil.
func (p Attendance) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeThreadParticipantRegistered, coordination.TypeThreadParticipantExpired:
		d, err := read[coordination.ThreadParticipant](typ, data)
		if err != nil || d.ThreadID == "" || d.AgentID == "" {
			return false, err
		}
		if typ == coordination.TypeThreadParticipantExpired {
			return p.leaves(d.ThreadID, d.AgentID), nil
		}
		p.joins(d.ThreadID, d.AgentID, ts)
		return true, nil
	case coordination.TypeDiscordInboundHandled, coordination.TypeDiscordInboundObserved, coordination.TypeDiscordInboundDropped,
		coordination.TypeDiscordSent, coordination.TypeThreadCreated:
		d, err := read[struct{ ThreadID string }](typ, data)
		if err != nil || d.ThreadID == "" {
			return false, err
		}
		return p.touched(d.ThreadID, ts), nil
	}
	return false, nil
}

func (p Attendance) joins(thread, agent string, ts int64) {
	p.touched(thread, ts)
	t := p[thread]
	t.LastAt = max(t.LastAt, ts)
	if t.Agents == nil {
		t.Agents = map[string]Attended{}
	}
	if a, in := t.Agents[agent]; !in || a.Silence > 0 {
		t.Agents[agent] = Attended{Since: ts}
	}
	p[thread] = t
}

func (p Attendance) leaves(thread, agent string) bool {
	t, known := p[thread]
	if _, in := t.Agents[agent]; !known || !in {
		return false
	}
	if delete(t.Agents, agent); len(t.Agents) == 0 {
		delete(p, thread)
	}
	return true
}

// touched records a message. Threads without participants are not kept.
func (p Attendance) touched(thread string, ts int64) bool {
	t, known := p[thread]
	if !known || ts <= t.LastAt {
		return false
	}
	for agent, a := range t.Agents {
		if silence := ts - t.LastAt; silence > a.Silence {
			a.Silence = silence
			t.Agents[agent] = a
		}
	}
	t.LastAt = ts
	p[thread] = t
	return true
}
