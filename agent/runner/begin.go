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
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// effectPrefix precedes a run's id in the id of its work item.
const effectPrefix = "run/"

func runIDOf(item workqueue.Item) string { return strings.TrimPrefix(item.EffectID, effectPrefix) }

// params holds the parameters of a started run.
type params struct {
	asked    *queuedRun
	key      coordination.SessionKey
	message  coordination.SessionMessage // the user's message, as in the transcript
	config   *config.Config
	models   *catalogue.Catalogue
	first    string // the first choice of a model
	thinking string
	timeout  time.Duration // since the start; 0 is unlimited
	resumed  bool          // it was parked: its own steps are in the transcript
	attempt  int           // number of this start, from 1
}

// Begin implements worker.Handler: it adds the message to the transcript and starts the run. A message redacted while
// it waited fails.
func (r *Runner) Begin(tx eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	q, err := readQueued(tx, item.Seq)
	if err != nil {
		return nil, err
	}
	result, found, err := runs.Load(tx, runID)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errors.New("run " + runID + " is queued but has no run.queued event")
	case result.State != run.Queued:
		return nil, &run.Refusal{Reason: run.CodeOver, Field: "state", Value: string(result.State), Text: "run " + runID + " is not queued"}
	}
	key, err := coordination.ParseSessionKey(q.SessionKey)
	if q.redacted || err != nil {
		return r.endUnstarted(tx, result, q, outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classPrompt,
			Error: "the message was redacted before it was answered"}}, now)
	}
	if wanted, err := r.wanted(tx, q); err != nil {
		return nil, err
	} else if !wanted {
		return r.endUnstarted(tx, result, q, outcome{to: run.Aborted, over: coordination.RunOver{Reason: reasonUnwanted}}, now)
	}
	state, _, err := sessions.Load(tx, key)
	if err != nil {
		return nil, err
	}
	transcript := q.SessionID
	if result.Parked() {
		transcript = result.SessionID
	}
	if transcript != "" && transcript != state.ID {
		closed, err := sessions.ClosedSince(tx, transcript, result.QueuedAt)
		if err != nil {
			return nil, err
		}
		if closed {
			return r.endUnstarted(tx, result, q, outcome{to: run.Aborted, over: coordination.RunOver{Reason: reasonReset}}, now)
		}
	}
	j := r.paramsOf(q, key, state.Settings)
	if err := j.attach(tx); err != nil {
		return nil, err
	}
	j.resumed, j.attempt = result.Parked(), item.Attempt+1
	said, sessionID, err := r.open(tx, state, &j)
	if err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	appends, err := sessions.Append(state, q.actor, at, said)
	if err != nil {
		return nil, err
	}
	nameMessage(appends, messageEvent(sessionID, &q.RunQueued))
	var lease int64
	if j.timeout > 0 {
		lease = at + (j.timeout + leaseMargin).Milliseconds()
	}
	started, err := q.meta(runID, eventstore.ActorSystem, at).events(run.Start(&q.RunQueued, sessionID, at, lease, j.first, j.config.Hash()))
	if err != nil {
		return nil, err
	}
	result.State, result.StartedAt, result.SessionID = run.Running, at, sessionID
	r.activate(&activeRun{runner: r.Runs, result: result, params: j})
	return append(appends, started), nil
}

// reasonUnwanted is the reason of an aborted run that is no longer wanted.
const reasonUnwanted = "stop"

func (r *Runner) wanted(tx eventstore.Tx, q *queuedRun) (bool, error) {
	if r.o.Wanted == nil {
		return true, nil
	}
	return r.o.Wanted(tx, &q.RunQueued)
}

// paramsOf returns the parameters of a run that starts now.
func (r *Runner) paramsOf(q *queuedRun, key coordination.SessionKey, settings session.Settings) params {
	j := params{asked: q, key: key, config: r.o.Config(), models: r.o.Models(), thinking: cmp.Or(q.Thinking, settings.Text("thinkingLevel"))}
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

// maxTimeout is the longest timeout of a run; longer ones are reduced to it.
const maxTimeout = 365 * 24 * time.Hour

// Authors of messages.
const (
	authorUser      = "user"
	authorAssistant = "assistant"
	authorTool      = "tool"
)

// open resets the session if requested, and adds the message to its transcript unless an earlier attempt has. A
// deleted session is created again.
func (r *Runner) open(tx eventstore.Tx, state session.State, j *params) (said []session.Event, sessionID string, err error) {
	command := session.Command{By: j.asked.By, NewID: r.newID()}
	if j.asked.Reset != "" && j.asked.RetryOf == "" && !j.resumed {
		if said, err = session.Reset(state, session.ResetCommand{Command: command, Reason: j.asked.Reset}); err != nil {
			return nil, "", err
		}
		state.ID = command.NewID
	}
	if !state.Exists() {
		sessionID = command.NewID
	} else {
		sessionID = state.ID
	}
	j.message.MessageID, j.message.SessionID = r.newID(), sessionID
	stands, err := eventExists(tx, messageEvent(sessionID, &j.asked.RunQueued))
	if stands || err != nil {
		return said, sessionID, err
	}
	more, err := session.Say(state, session.SayCommand{Command: command, Message: j.message})
	return append(said, more...), sessionID, err
}

// messageEvent is the id of the event that adds a run's message to a transcript: the same for all attempts.
func messageEvent(sessionID string, q *coordination.RunQueued) eventstore.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{"message of a run", sessionID, run.MessageOf(q.RunID, q.RetryOf, q.JobID)}))
	return eventstore.DerivedID(0, eventstore.Hash(sum))
}

// nameMessage sets the id of a transcript message.
func nameMessage(appends []eventstore.StreamAppend, id eventstore.ID) {
	for _, a := range appends {
		if last := len(a.Events) - 1; last >= 0 && a.Events[last].Type == coordination.TypeSessionMessage {
			a.Events[last].ID = id
		}
	}
}

// eventExists reports whether an event exists.
func eventExists(tx eventstore.Tx, id eventstore.ID) (there bool, err error) {
	if there, err = eventstore.EventExists(tx, id); err != nil {
		return false, fmt.Errorf("check whether a message is in its transcript: %w", err)
	}
	return there, nil
}

// reasonReset is the reason of a run aborted because its transcript was closed.
const reasonReset = "reset"

// endUnstarted ends a run that did nothing, with the consequences.
func (r *Runner) endUnstarted(tx eventstore.Tx, result run.Result, q *queuedRun, o outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, _, err := r.endEvents(tx, result, q, &o, eventstore.ActorSystem, now)
	if err != nil {
		return nil, err
	}
	r.expectEnd(result.RunID)
	return appends, nil
}

// Lost implements worker.Handler. A run interrupted by a restart is aborted, and queued again to continue at its last step,
// or to be repeated if its cause requests it; one whose lease expired has timed out, with what it had said.
func (r *Runner) Lost(tx eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	result, found, err := runs.Load(tx, runID)
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
		o = outcome{to: run.Aborted, over: coordination.RunOver{Reason: whyRestart}}
		if o.next, err = r.resumptionOf(tx, result, q, item.Seq); err != nil {
			return nil, err
		}
		o.retry = wanted && (o.next.resume || run.MayRetry(&q.RunQueued))
	}
	if a != nil {
		o.over.Text, o.last = a.currentText(), a.partial("aborted")
		o.applyStop(a)
	}
	appends, _, err := r.endEvents(tx, result, q, &o, eventstore.ActorAgent, now)
	if err != nil {
		return nil, err
	}
	r.expectEnd(runID)
	return appends, nil
}

// Refused implements worker.Refuser: a run that cannot be started, or ended by Lost, fails. If the log has rejected
// that, the reason may be the consequences: then it ends without them.
func (r *Runner) Refused(tx eventstore.Tx, item workqueue.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	runID := runIDOf(item)
	result, found, err := runs.Load(tx, runID)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, eventstore.ErrNotFound
	}
	q, err := readQueued(tx, item.Seq)
	if err != nil {
		q = &queuedRun{agentID: result.AgentID} // which may be the cause
	}
	r.logger.Error("giving up a run", "run", runID, "err", why)
	o := outcome{to: run.Failed, over: coordination.RunOver{ErrorClass: classInternal, Error: "it could not be started or ended; the log says why"}}
	if r.next != nil && r.isRefused(why) {
		o.alone = true
		r.logWithoutConsequences(runID, why)
	}
	return r.endUnstarted(tx, result, q, o, now)
}

// whyRestart is the reason of a run aborted because its process ended.
const whyRestart = "restart"
