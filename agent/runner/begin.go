package runner

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/projections/work"
)

// effectPrefix comes before the id of a run in the id of its work.
const effectPrefix = "run/"

func runIDOf(item work.Item) string { return strings.TrimPrefix(item.EffectID, effectPrefix) }

// job is what a run that has begun goes by.
type job struct {
	asked    *queued
	key      coordination.SessionKey
	message  coordination.SessionMessage // of the user, as it stands in the transcript
	config   *config.Config
	models   *catalogue.Catalogue
	first    string // the first choice of a model
	thinking string
	timeout  time.Duration // from the beginning; 0 is for ever
}

// Begin is that of worker.Handler: the message comes into the transcript, and the run has its lane. A message that was redacted while it
// waited fails.
func (r *Runner) Begin(tx eventstore.Tx, item work.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	q, err := readQueued(tx, item.Seq)
	if err != nil {
		return nil, err
	}
	result, found, err := projection.Load(tx, runID)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errors.New("run " + runID + " waits, but nobody has asked for it")
	case result.State != run.Queued:
		return nil, &run.Refusal{Code: run.CodeOver, Field: "state", Value: string(result.State), Text: "run " + runID + " does not wait"}
	}
	key, err := coordination.ParseSessionKey(q.SessionKey)
	if q.redacted || err != nil {
		return r.endUnbegun(tx, result, q, outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classPrompt,
			Error: "the message was redacted before it was answered"}}, now)
	}
	if wanted, err := r.wanted(tx, q); err != nil {
		return nil, err
	} else if !wanted {
		return r.endUnbegun(tx, result, q, outcome{to: run.Aborted, over: coordination.RunOver{Reason: reasonUnwanted}}, now)
	}
	state, _, err := session.Load(tx, key)
	if err != nil {
		return nil, err
	}
	if q.SessionID != "" && q.SessionID != state.ID {
		closed, err := session.ClosedSince(tx, q.SessionID, result.QueuedAt)
		if err != nil {
			return nil, err
		}
		if closed {
			return r.endUnbegun(tx, result, q, outcome{to: run.Aborted, over: coordination.RunOver{Reason: reasonReset}}, now)
		}
	}
	j := r.jobOf(q, key, state.Settings)
	said, sessionID, err := r.open(tx, state, &j)
	if err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	appends, err := session.Append(state, q.actor, at, said)
	if err != nil {
		return nil, err
	}
	nameMessage(appends, messageEvent(sessionID, &q.RunQueued))
	var lease int64
	if j.timeout > 0 {
		lease = at + (j.timeout + leaseMargin).Milliseconds()
	}
	started, err := q.note(runID, eventstore.ActorSystem, at).events(run.Start(&q.RunQueued, sessionID, at, lease, j.first, j.config.Hash()))
	if err != nil {
		return nil, err
	}
	result.State, result.StartedAt, result.SessionID = run.Running, at, sessionID
	r.mu.Lock()
	r.runs[runID] = &active{runner: r, result: result, job: j}
	r.mu.Unlock()
	return append(appends, started), nil
}

// reasonUnwanted is the reason of what is aborted because nobody wants it any more.
const reasonUnwanted = "stop"

func (r *Runner) wanted(tx eventstore.Tx, q *queued) (bool, error) {
	if r.o.Wanted == nil {
		return true, nil
	}
	return r.o.Wanted(tx, &q.RunQueued)
}

// jobOf is what holds for a run that begins now.
func (r *Runner) jobOf(q *queued, key coordination.SessionKey, settings decide.Settings) job {
	j := job{asked: q, key: key, config: r.o.Config(), models: r.o.Models(), thinking: cmp.Or(q.Thinking, settings.Text("thinkingLevel"))}
	j.first = cmp.Or(q.Model, settings.Text("model"), j.config.ModelFor(q.agentID).Primary)
	j.timeout = j.config.Timeout(q.agentID)
	if q.TimeoutMs != nil {
		j.timeout = time.Duration(min(*q.TimeoutMs, maxTimeout.Milliseconds())) * time.Millisecond
	}
	j.message = coordination.SessionMessage{
		Context: q.Context, RunID: q.RunID, Author: authorUser, Text: q.Message, Content: q.Content, Provenance: q.Provenance, FromAgent: q.FromAgent, Internal: q.Internal,
		Channel: q.Channel, To: q.To, Account: q.AccountID, ThreadID: q.ThreadID,
	}
	return j
}

// maxTimeout is the longest time that a run may be given; what is longer is taken for it.
const maxTimeout = 365 * 24 * time.Hour

// Authors of messages.
const (
	authorUser      = "user"
	authorAssistant = "assistant"
	authorTool      = "tool"
)

// open lets the session start over if that was asked for, and puts the message into its transcript, unless an attempt at the same message before has.
// A session that is not there any more begins anew.
func (r *Runner) open(tx eventstore.Tx, state decide.State, j *job) (said []decide.Event, sessionID string, err error) {
	command := decide.Command{By: j.asked.By, NewID: r.o.NewID()}
	if j.asked.Reset != "" && j.asked.RetryOf == "" {
		if said, err = decide.Reset(state, decide.ResetCommand{Command: command, Reason: j.asked.Reset}); err != nil {
			return nil, "", err
		}
		state.ID = command.NewID
	}
	if !state.Exists() {
		sessionID = command.NewID
	} else {
		sessionID = state.ID
	}
	j.message.MessageID, j.message.SessionID = r.o.NewID(), sessionID
	stands, err := standsIn(tx, messageEvent(sessionID, &j.asked.RunQueued))
	if stands || err != nil {
		return said, sessionID, err
	}
	more, err := decide.Say(state, decide.SayCommand{Command: command, Message: j.message})
	return append(said, more...), sessionID, err
}

// messageEvent is the id of the event that puts the message of a run into a transcript: the same for all attempts at the message.
func messageEvent(sessionID string, q *coordination.RunQueued) eventstore.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{"message of a run", sessionID, run.MessageOf(q.RunID, q.RetryOf, q.JobID)}))
	return eventstore.DerivedID(0, eventstore.Hash(sum))
}

// nameMessage gives the message that is put into a transcript its id.
func nameMessage(appends []eventstore.StreamAppend, id eventstore.ID) {
	for _, a := range appends {
		if last := len(a.Events) - 1; last >= 0 && a.Events[last].Type == coordination.TypeSessionMessage {
			a.Events[last].ID = id
		}
	}
}

// standsIn reports whether an event is there.
func standsIn(tx eventstore.Tx, id eventstore.ID) (there bool, err error) {
	err = tx.Query("SELECT 1 FROM events WHERE id = ?", []any{id[:]}, func(eventstore.Row) error { there = true; return nil })
	if err != nil {
		return false, fmt.Errorf("look whether a message is in its transcript: %w", err)
	}
	return there, nil
}

// reasonReset is the reason of what is aborted because the transcript that it was meant for is closed.
const reasonReset = "reset"

// endUnbegun ends a run for which nothing was done, with what follows from that.
func (r *Runner) endUnbegun(tx eventstore.Tx, result run.Result, q *queued, o outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, _, err := r.ending(tx, result, q, &o, eventstore.ActorSystem, now)
	if err != nil {
		return nil, err
	}
	r.expect(result.RunID)
	return appends, nil
}

// Lost is that of worker.Handler. What a restart breaks off is aborted, and asked for once more where its cause wants that; what has lost
// its lease has timed out, with what it had said.
func (r *Runner) Lost(tx eventstore.Tx, item work.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	result, found, err := projection.Load(tx, runID)
	if err != nil || !found || result.State.Over() {
		return nil, err
	}
	q, err := readQueued(tx, item.Seq)
	if err != nil {
		return nil, err
	}
	a := r.running(runID)
	o := outcome{to: run.TimedOut, over: coordination.RunOver{Error: "its lease is over"}}
	if why == whyRestart || result.State != run.Running {
		wanted, err := r.wanted(tx, q)
		if err != nil {
			return nil, err
		}
		o = outcome{to: run.Aborted, over: coordination.RunOver{Reason: whyRestart}, retry: wanted && run.MayRetry(&q.RunQueued)}
	}
	if a != nil {
		o.over.Text, o.last = a.said(), a.partial("aborted")
		o.heed(a)
	}
	appends, _, err := r.ending(tx, result, q, &o, eventstore.ActorAgent, now)
	if err != nil {
		return nil, err
	}
	r.expect(runID)
	return appends, nil
}

// Refused is that of worker.Refuser: a run that would not begin, or that Lost could not end, fails. Where the log has not taken that, it may
// be for what follows from the end: then it ends without.
func (r *Runner) Refused(tx eventstore.Tx, item work.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	result, found, err := projection.Load(tx, runID)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, eventstore.ErrNotFound
	}
	q, err := readQueued(tx, item.Seq)
	if err != nil {
		q = &queued{agentID: result.AgentID} // which may be why
	}
	r.o.Logger.Error("a run is given up", "run", runID, "err", why)
	o := outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classInternal, Error: "it could not be begun or ended; the log says why"}}
	if r.o.Then != nil && r.isRefused(why) {
		o.alone = true
		r.tellAlone(runID, why)
	}
	return r.endUnbegun(tx, result, q, o, now)
}

// whyRestart is the reason of what is aborted because its process is gone.
const whyRestart = "restart"
