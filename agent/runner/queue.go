package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Queue is that of gateway.Runs. Whether the run was asked for before, whether there is room, and what the session says are one decision
// with the event that accepts it.
func (r *Runner) Queue(ctx context.Context, ask run.Ask) (run.Accepted, error) {
	q := r.queueing(&ask, r.o.Now())
	q.prepare()
	if _, err := r.o.Log.Decide(ctx, q.decide); err != nil {
		return run.Accepted{}, err
	}
	if q.accepted.Again && q.accepted.Now.State.Over() {
		whole, found, err := r.Look(ctx, ask.RunID)
		if err != nil {
			return run.Accepted{}, err
		}
		if found {
			q.accepted.Now = whole
		}
	}
	return q.accepted, nil
}

// Ask says what is appended to have a run queued, in the transaction that appends it and its reason. What was asked for before is asked for
// no more: there is nothing to append. Errors are those of Queue, and the log's. The message is masked within the transaction, unless it was
// asked for before, so it should not be long. It does not see what else the transaction appends: two runs cannot be asked for in one session
// that is not there yet.
func (r *Runner) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	if _, found, err := projection.Load(tx, ask.RunID); err != nil || found {
		return nil, err
	}
	if err := r.link(tx, &ask, now); err != nil {
		return nil, err
	}
	return r.queueing(&ask, now).admit(tx)
}

// link puts a run into the chain of what has caused it. One that is passed on from agent to agent is refused where the chain has gone on too far, or
// too fast. What a person asks for begins a chain of its own.
func (r *Runner) link(tx eventstore.Tx, ask *run.Ask, now time.Time) error {
	if ask.Human {
		return nil
	}
	to := chain.At(ask.RootRunID, ask.Hop)
	if ask.ParentRunID != "" && to.Root == "" {
		from, parent, found, err := projection.Link(tx, ask.ParentRunID)
		if err != nil {
			return err
		}
		if found {
			if ask.Pass {
				from = from.Next()
				ask.PassedBy = cmp.Or(ask.PassedBy, parent.AgentID)
			}
			to = chain.Link{Root: from.Root, Hop: max(from.Hop, to.Hop)}
			if ask.RootRunID = to.Root; to.Hop > 0 {
				ask.Hop = &to.Hop
			}
		}
	}
	if !ask.Pass || to.Root == "" {
		return nil
	}
	conf := r.o.Config()
	why, err := projection.Judge(tx, &conf.Defaults.LoopGuard, to, ask.PassedBy, agentOf(conf, ask.Session), 0, now.UnixMilli())
	if err != nil || why == nil {
		return err
	}
	return &run.Refusal{Code: why.Code, Field: "rootRunId", Value: to.Root, Text: why.Text, Mend: why.Mend}
}

func (r *Runner) queueing(ask *run.Ask, now time.Time) *queueing {
	return &queueing{runner: r, ask: ask, now: now, newID: r.o.NewID(), key: ask.Session.String(), agentID: agentOf(r.o.Config(), ask.Session)}
}

// agentOf is the agent whose session it is; one without an agent in its key is the default agent's.
func agentOf(c *config.Config, key coordination.SessionKey) string {
	if key.Agent != "" {
		return key.Agent
	}
	return c.DefaultAgentID()
}

// queueing is a message on its way into the log.
type queueing struct {
	runner  *Runner
	ask     *run.Ask
	now     time.Time
	newID   string // of the transcript of a session that begins
	key     string
	agentID string

	prepared bool
	asked    eventstore.StreamAppend // what is appended if nothing stands against it
	refused  error                   // what stands against it whatever the log says, unless it was accepted before

	accepted run.Accepted
}

// prepare makes what is appended. It may be done before the transaction: messages may be long.
func (q *queueing) prepare() {
	if !q.prepared {
		q.asked, q.refused = q.accept()
		q.prepared = true
	}
}

func (q *queueing) accept() (eventstore.StreamAppend, error) {
	decided, err := run.Accept(*q.ask)
	if err == nil {
		err = q.model()
	}
	if err != nil {
		return eventstore.StreamAppend{}, err
	}
	n := note{runID: q.ask.RunID, agentID: q.agentID, actor: q.actor(), at: q.now.UnixMilli(), exchange: q.ask.ConversationID}
	a, err := n.events(decided...)
	if err != nil {
		return a, err
	}
	return a, a.Check()
}

// model sees whether the model that is asked for can be opened, if one is: who asks for it wants that one. What a session or the
// configuration names is only seen when the run begins, and falls back.
func (q *queueing) model() error {
	if q.ask.Model == "" {
		return nil
	}
	_, err := q.runner.o.Models().Open(q.ask.Model)
	if e := (*catalogue.Error)(nil); errors.As(err, &e) {
		return &run.Refusal{Code: run.CodeUnknownModel, Field: "model", Value: e.Ref, Text: e.Setting + " " + e.Problem,
			Mend: e.Mend + "; models.list shows the models that are configured"}
	}
	return err
}

func (q *queueing) actor() eventstore.Actor {
	switch {
	case q.ask.Human:
		return eventstore.ActorHuman
	case q.ask.FromAgent != "":
		return eventstore.ActorAgent
	}
	return eventstore.ActorSystem
}

func (q *queueing) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	was, found, err := projection.Load(tx, q.ask.RunID)
	switch {
	case err != nil:
		return nil, err
	case found:
		q.accepted, err = again(tx, was)
		return nil, err
	}
	return q.admit(tx)
}

// admit gives what is appended for a run that was not asked for before.
func (q *queueing) admit(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	if q.prepare(); q.refused != nil {
		return nil, q.refused
	}
	ahead, err := q.room(tx)
	if err != nil {
		return nil, err
	}
	state, _, err := session.Load(tx, q.ask.Session)
	if err != nil {
		return nil, err
	}
	if state.Settings.Text("sendPolicy") == "deny" {
		return nil, &run.Refusal{Code: run.CodeNotAllowed, Field: "sendPolicy", Value: "deny", Text: "send blocked by session policy",
			Mend: "set sendPolicy of session " + q.key + " to allow"}
	}
	appends, err := q.begin(tx, state)
	if err != nil {
		return nil, err
	}
	at := q.now.UnixMilli()
	q.accepted = run.Accepted{RunID: q.ask.RunID, SessionKey: q.key, AcceptedAt: at, Ahead: ahead}
	return append(appends, q.asked), nil
}

// again is the answer to who asks for a run once more, whatever else he asks for.
func again(tx eventstore.Tx, was run.Result) (run.Accepted, error) {
	accepted := run.Accepted{RunID: was.RunID, SessionKey: was.SessionKey, AcceptedAt: was.QueuedAt, Again: true, Now: was}
	if was.State != run.Queued {
		return accepted, nil
	}
	open, err := projection.OpenOf(tx, was.SessionKey)
	if err != nil {
		return run.Accepted{}, err
	}
	for _, other := range open {
		if other.RunID == was.RunID {
			break
		}
		accepted.Ahead++
	}
	return accepted, nil
}

// room sees whether there is room for one more, and tells how many runs of the session come before it.
func (q *queueing) room(tx eventstore.Tx) (ahead int, err error) {
	of, err := work.Of(tx, q.key)
	if err != nil {
		return 0, err
	}
	if of.Waiting >= q.runner.limits.SessionWaiting {
		return 0, &run.Busy{SessionKey: q.key, Ahead: of.Waiting + of.Leased, OldestMs: q.since(of.Since)}
	}
	all, err := work.Total(tx, work.KindRun)
	if err != nil {
		return 0, err
	}
	if all.Waiting >= q.runner.limits.Waiting {
		oldest, err := work.Oldest(tx, work.KindRun)
		if err != nil {
			return 0, err
		}
		return 0, &run.Busy{SessionKey: q.key, Ahead: all.Waiting, All: true, OldestMs: q.since(oldest)}
	}
	return of.Waiting + of.Leased, nil
}

// since is how long ago something was, 0 if it never was.
func (q *queueing) since(at int64) int64 {
	if at == 0 {
		return 0
	}
	return max(q.now.UnixMilli()-at, 0)
}

// begin makes the session, if there is none yet.
func (q *queueing) begin(tx eventstore.Tx, state decide.State) ([]eventstore.StreamAppend, error) {
	if state.Exists() {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	if q.ask.Label != "" {
		values["label"] = quoted(q.ask.Label)
	}
	if q.ask.SpawnedBy != "" && q.ask.Session.Kind == coordination.KeySubagent { // others have none
		values["spawnedBy"] = quoted(q.ask.SpawnedBy)
	}
	decided, err := decide.Patch(state, decide.PatchCommand{Command: decide.Command{By: q.ask.By, NewID: q.newID}, Values: values},
		func(label string) (string, error) { return session.LabelHolder(tx, label) })
	if refusal := (*decide.Refusal)(nil); errors.As(err, &refusal) {
		return nil, &run.Refusal{Code: run.CodeInvalidAsk, Field: refusal.Field, Value: refusal.Value, Text: refusal.Text,
			Mend: "give another " + refusal.Field + ", or none"}
	}
	if err != nil {
		return nil, err
	}
	return session.Append(state, q.actor(), q.now.UnixMilli(), decided)
}

func quoted(text string) json.RawMessage {
	q, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // a text can always be written
	}
	return q
}
