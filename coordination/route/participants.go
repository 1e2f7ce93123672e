package route

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Attendance is who takes part in which thread, by thread id. Apply folds it. An agent takes part from when it was registered until nobody has
// spoken in the thread for the time that the policy allows; this holds whether or not an event tells of the end.
//
// nil is not empty: where it is nil nobody knows who takes part.
type Attendance map[string]Thread

// Thread is one thread.
type Thread struct {
	LastAt int64               `json:"lastAt"` // when somebody last spoke there, or was registered, ms since 1970
	Agents map[string]Attended `json:"agents,omitempty"`
}

// Attended is since when an agent takes part, ms since 1970, and the longest silence that it has seen, in ms.
type Attended struct {
	Since   int64 `json:"since"`
	Silence int64 `json:"silence,omitempty"`
}

// Clone is a copy.
func (p Attendance) Clone() Attendance {
	next := maps.Clone(p)
	for id, t := range next {
		t.Agents = maps.Clone(t.Agents)
		next[id] = t
	}
	return next
}

// Of are the agents that take part in a thread at a time, in order.
func (p Attendance) Of(thread string, at int64, ttl time.Duration) []string {
	present, _ := p[thread].at(at, ttl)
	return present
}

// at tells who takes part from who no longer does though no event says so, both in order.
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

// Due are the events that tell of everybody who no longer takes part at a time, in order, and when the next one no longer will if nobody speaks: 0
// if there is none.
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

// Collaborating is what is appended when an agent has asked another one for help in a thread: both take part, whoever does not yet.
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

// Apply folds an event. It reports whether the event means anything here. ts is ms since 1970. An event that cannot be read is an error and changes
// nothing; one that is redacted (data nil) means nothing. p must not be nil.
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

// touched notes that somebody spoke. Threads without participants are not remembered.
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
