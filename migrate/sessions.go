package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// sessions takes over all sessions.
func (t *taker) sessions(ctx context.Context) error {
	found, made := map[string]string{}, map[string]string{}
	return t.source.Sessions(ctx, func(s *openclaw.Session) error {
		x := &sessionTaker{taker: t, ctx: ctx, s: s, madeIDs: found, current: made}
		x.is(s.Key)
		return errors.Join(x.take(), t.record.begin(ctx))
	})
}

// sessionTaker takes over one session. Its transcripts become transcripts of ours with the same ids. A reset within a transcript, as
// OpenClaw has them since 2026.6, begins a transcript whose id ends with that of the reset.
type sessionTaker struct {
	*taker
	ctx context.Context
	s   *openclaw.Session
	key coordination.SessionKey

	name, stream string // of key

	// What this run has opened: keys of transcripts, and the current transcript of each session.
	madeIDs, current map[string]string

	part string // id of the transcript that messages go to
	ts   int64  // of the last entry
	read int64  // the last time that the transcript says, 0 before the first: ids depend on no other, since others may change
	odd  int    // entries of the transcript whose time cannot be
}

func (x *sessionTaker) is(key coordination.SessionKey) {
	x.key, x.name, x.stream = key, key.String(), coordination.SessionStream(key)
}

func (x *sessionTaker) take() error {
	x.report.count(Sessions).Found++
	x.checkAgent()
	here, err := x.here()
	if err != nil {
		return err
	}
	if x.s.Archived && len(x.s.Transcripts) == 1 && here[0] != "" {
		if key, err := coordination.ParseSessionKey(here[0]); err == nil {
			x.is(key) // it was current when it was taken over
		}
	}
	for i := range x.s.Transcripts {
		tr := &x.s.Transcripts[i]
		if here[i] != "" && x.isRunOf(here[i], tr.ID) {
			x.report.count(Sessions).Already++
			return nil
		}
		if reason, detail := x.refuses(here, i); reason != "" {
			x.report.count(Sessions).Left++
			x.leave(tr.Place, reason, detail, "")
			return nil
		}
		if err := x.transcript(tr); err != nil {
			return err
		}
		if x.part == "" {
			return nil // it is reported
		}
	}
	if len(x.s.Transcripts) == 0 {
		if opened, err := x.open(x.s.Entry.SessionID, x.s.Place, x.s.Entry.UpdatedAt, "initial"); err != nil || !opened {
			return err
		}
	}
	if x.s.Archived {
		return x.close()
	}
	return x.settings()
}

// checkAgent notes sessions of agents that the configuration does not have. Their history is kept.
func (x *sessionTaker) checkAgent() {
	if x.key.Agent == "" || x.o.HasAgent == nil || x.o.HasAgent(x.key.Agent) || x.gone[x.key.Agent] {
		return
	}
	if x.gone == nil {
		x.gone = map[string]bool{}
	}
	x.gone[x.key.Agent] = true
	x.leave(x.s.Place, ReasonAgentGone, "the configuration has no agent "+x.key.Agent+": its sessions are kept, and no agent answers in them", "add the agent to openclaw.json")
}

// here returns the keys of the sessions of ours that have the transcripts, "" where there is none.
func (x *sessionTaker) here() (keys []string, err error) {
	keys = make([]string, len(x.s.Transcripts))
	for i := range x.s.Transcripts {
		if keys[i], err = x.keyOf(x.s.Transcripts[i].ID); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// keyOf returns the key of the session that has a transcript here, or "".
func (x *sessionTaker) keyOf(id string) (key string, err error) {
	if key = x.madeIDs[id]; key != "" || x.o.Log == nil {
		return key, nil
	}
	err = x.o.Log.View(x.ctx, func(tx *sql.Tx) error {
		key, err = sessions.KeyOfTranscript(x.ctx, tx, id)
		return err
	})
	return key, err
}

// isRunOf reports whether the session is a second name of a scheduled job's session, which OpenClaw gives each run of it: both have the same
// transcript.
func (x *sessionTaker) isRunOf(key, id string) bool {
	return strings.Contains(key, ":cron:") && x.name == key+":run:"+id
}

// refuses says why a transcript cannot be taken over.
func (x *sessionTaker) refuses(here []string, i int) (reason, detail string) {
	id := x.s.Transcripts[i].ID
	switch {
	case here[i] != "" && here[i] != x.name:
		return ReasonIDInUse, "the session " + here[i] + " has a transcript " + id + " already"
	case here[i] != "":
		return "", ""
	}
	for _, later := range here[i+1:] {
		if later == x.name {
			return ReasonOlder, "a later transcript of " + x.name + " is in the log, and order cannot be changed"
		}
	}
	return "", ""
}

// transcript takes over one transcript. It is opened with its first entry.
func (x *sessionTaker) transcript(tr *openclaw.Transcript) error {
	x.part, x.ts, x.read, x.odd = "", 0, 0, 0
	stopped := false
	err := tr.Each(func(line openclaw.Line) error {
		x.progressed(line.Size)
		if stopped {
			x.report.count(Messages).Left++
			return nil
		}
		if err := x.record.begin(x.ctx); err != nil {
			return err
		}
		opened, err := x.entry(tr, line)
		stopped = !opened
		return err // also ErrNotJSON
	})
	if err != nil || stopped {
		x.part = ""
		return err
	}
	if x.odd > 0 {
		x.leave(tr.Place, ReasonClock, fmt.Sprintf("%d entries have a time that cannot be; they have that of the entry before", x.odd), "")
	}
	if x.part == "" {
		_, err = x.open(tr.ID, tr.Place, x.s.Entry.UpdatedAt, "initial")
	}
	return err
}

// Times outside of these are of a clock that was not set.
const (
	earliest = 946_684_800_000   // 2000
	latest   = 4_102_444_800_000 // 2100
)

// entry takes over one entry, and reports whether there is a session for it.
func (x *sessionTaker) entry(tr *openclaw.Transcript, line openclaw.Line) (opened bool, err error) {
	place := fmt.Sprintf("%s:%d", tr.Place, line.Number)
	e, err := parse(line.Text)
	if err != nil {
		return true, err
	}
	if at := e.at(); at >= earliest && at < latest {
		x.ts, x.read = at, at
	} else {
		if at != 0 {
			x.odd++
		}
		if x.ts == 0 {
			x.ts = max(x.s.Entry.UpdatedAt, earliest)
		}
	}
	if x.part == "" {
		if opened, err := x.open(tr.ID, tr.Place, x.ts, "initial"); err != nil || !opened {
			return false, err
		}
	}
	if e.Type == "reset" && e.Message == nil {
		return x.open(tr.ID+"."+e.ID, place, x.ts, e.Reason)
	}
	m := e.message()
	if m == nil {
		return true, nil
	}
	return true, x.message(m, e, tr, line, place)
}

// message takes over a message.
func (x *sessionTaker) message(m *coordination.SessionMessage, e *entry, tr *openclaw.Transcript, line openclaw.Line, place string) error {
	count := x.report.count(Messages)
	count.Found++
	m.EventRole, m.SessionKey, m.SessionID = coordination.RoleObservability, x.name, x.part
	within := e.ID
	if within == "" {
		within = fmt.Sprintf("line %d", line.Number)
	}
	event := eventstore.NewEvent{ID: idOf(x.read, "message", x.name, tr.ID, within, m.Author, m.ToolCallID, m.Text), Type: coordination.TypeSessionMessage,
		AgentID: x.key.Agent, Actor: actors[m.Author]}
	return x.add(event, m, place, count)
}

var actors = map[string]eventstore.Actor{"user": eventstore.ActorHuman, "assistant": eventstore.ActorAgent, "tool": eventstore.ActorAgent, "system": eventstore.ActorSystem}

// add adds an event of the session, or reports why it cannot be stored.
func (x *sessionTaker) add(e eventstore.NewEvent, data any, place string, count *Count) error {
	e, err := e.With(data, x.ts)
	if err != nil {
		x.refused(origin{count, place}, err)
		return nil
	}
	return x.writer.add(x.ctx, x.stream, e, origin{count, place})
}

// open makes id the transcript that messages go to, and reports whether it could. A transcript that is not here yet is opened: with the
// session, or with a reset of it.
func (x *sessionTaker) open(id, place string, at int64, reason string) (opened bool, err error) {
	if len(id) > coordination.MaxKeyPart || strings.ContainsAny(id, " \t\r\n") {
		x.leave(place, openclaw.ReasonInvalid, "the transcript's id is too long or has spaces", "")
		return false, nil
	}
	x.ts = max(at, earliest)
	has, err := x.keyOf(id)
	if err != nil {
		return false, err
	}
	if has == "" {
		if opened, err = x.begin(id, place, reason); err != nil || !opened {
			return false, err
		}
		x.madeIDs[id], x.current[x.name] = x.name, id
	} else {
		x.report.count(Sessions).Already++
	}
	x.part = id
	return true, nil
}

// begin adds the event that opens a transcript.
func (x *sessionTaker) begin(id, place, reason string) (bool, error) {
	current, err := x.currentID()
	if err != nil {
		return false, err
	}
	data := coordination.Session{Context: coordination.Context{EventRole: coordination.RoleObservability}, SessionKey: x.name, SessionID: id, By: client}
	e := eventstore.NewEvent{ID: x.openID(id), Type: coordination.TypeSessionCreated, AgentID: x.key.Agent, Actor: eventstore.ActorSystem}
	switch {
	case current == "":
		if from, err := coordination.ParseSessionKey(x.s.Entry.SpawnedBy); err == nil {
			data.ParentSessionKey = from.String()
		}
	case !x.isTheirs(current):
		x.report.count(Sessions).Left++
		x.leave(place, ReasonSessionHere, "the session "+x.name+" here was made or reset here", "delete the session here first, if that of OpenClaw is wanted")
		return false, nil
	default:
		e.Type, data.PreviousSessionID, data.Reason = coordination.TypeSessionReset, current, "reset"
		if reason == "new" {
			data.Reason = reason
		}
	}
	return true, x.add(e, data, place, x.report.count(Sessions))
}

// openID is the id of the event that opens a transcript.
func (x *sessionTaker) openID(id string) eventstore.ID { return idOf(0, "open", x.name, id) }

// isTheirs reports whether a transcript of the session here came from OpenClaw.
func (x *sessionTaker) isTheirs(id string) bool {
	if x.madeIDs[id] == x.name || x.o.Log == nil {
		return true
	}
	_, err := x.o.Log.EventByID(x.ctx, x.openID(id))
	return err == nil
}

// currentID is the current transcript of the session here, "" if there is no session.
func (x *sessionTaker) currentID() (id string, err error) {
	if id = x.current[x.name]; id != "" || x.o.Log == nil {
		return id, nil
	}
	err = x.o.Log.View(x.ctx, func(tx *sql.Tx) error {
		one, err := sessions.ByKey(x.ctx, tx, x.name)
		if one != nil {
			id = one.ID
		}
		return err
	})
	return id, err
}

// close ends a session that only an archive has. Its transcript stays in the list of old ones.
func (x *sessionTaker) close() error {
	last := &x.s.Transcripts[len(x.s.Transcripts)-1]
	if !strings.HasPrefix(x.name, "agent:"+x.key.Agent+":archive:") {
		return nil
	}
	x.ts = max(last.ClosedAt, x.ts)
	at := x.ts
	if last.Closed == "" {
		at = 0 // it may still grow
	}
	data := coordination.Session{Context: coordination.Context{EventRole: coordination.RoleObservability}, SessionKey: x.name, SessionID: x.part,
		TranscriptKept: true, By: client}
	delete(x.current, x.name)
	return x.add(eventstore.NewEvent{ID: idOf(at, "delete", x.name, last.ID), Type: coordination.TypeSessionDeleted, AgentID: x.key.Agent,
		Actor: eventstore.ActorSystem}, data, last.Place, x.report.count(Settings))
}
