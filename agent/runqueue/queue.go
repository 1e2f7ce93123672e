// Package runqueue accepts runs: if there is room for a run and its chain of causes allows it, it appends the event
// that queues the run, and creates its session if that does not exist. Package runner executes queued runs.
package runqueue

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Log is what a Queue needs of the store, with the projections runs, sessions and workqueue in it.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Options of New. All but Limits are required.
type Options struct {
	Log    Log
	Config func() *config.Config       // in force
	Models func() *catalogue.Catalogue // of the same configuration
	Now    func() time.Time
	NewID  func() string // an id that is not in use
	Limits Limits
}

// Limits bound how many runs wait. Zero means the default.
type Limits struct {
	SessionWaiting int // in one session
	Waiting        int // in all
}

// Defaults of Limits.
const (
	DefaultSessionWaiting = 5_000
	DefaultWaiting        = 100_000
)

// Queue accepts runs. All of its methods may be called by many goroutines.
type Queue struct{ o Options }

// New makes a Queue.
func New(o Options) *Queue {
	o.Limits.SessionWaiting = cmp.Or(o.Limits.SessionWaiting, DefaultSessionWaiting)
	o.Limits.Waiting = cmp.Or(o.Limits.Waiting, DefaultWaiting)
	return &Queue{o}
}

// Queue accepts a run, which is on disk when Queue returns; a run id that was accepted before changes nothing, and Again is set. The queue
// limit and the session's policy are checked in the transaction that accepts the run. Errors: *run.Refusal, *run.Busy, or the log's.
func (q *Queue) Queue(ctx context.Context, ask run.Ask) (run.Accepted, error) {
	r := q.request(&ask, q.o.Now())
	r.prepare()
	if _, err := q.o.Log.Decide(ctx, r.decide); err != nil {
		return run.Accepted{}, err
	}
	if !r.accepted.Again || !r.accepted.Now.State.Over() {
		return r.accepted, nil
	}
	err := q.o.Log.View(ctx, func(tx *sql.Tx) error {
		whole, found, err := runs.ByID(ctx, tx, ask.RunID)
		if found {
			r.accepted.Now = whole
		}
		return err
	})
	if err != nil {
		return run.Accepted{}, err
	}
	return r.accepted, nil
}

// Ask returns the events that queue a run, for the caller's transaction; none if it was queued before. Errors are
// those of Queue, and the log's. The message is masked within the transaction unless it was queued before, so it
// should not be long. It does not see the transaction's other events: two runs cannot be queued in one session that
// does not exist yet.
func (q *Queue) Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error) {
	if _, found, err := runs.Load(tx, ask.RunID); err != nil || found {
		return nil, err
	}
	if err := q.link(tx, &ask, now); err != nil {
		return nil, err
	}
	return q.request(&ask, now).admit(tx)
}

// link places a run in its causal chain. A run passed between agents is refused if the chain is too long or too fast.
// A person's request starts a new chain.
func (q *Queue) link(tx eventstore.Tx, ask *run.Ask, now time.Time) error {
	if ask.Human {
		return nil
	}
	to := chain.At(ask.RootRunID, ask.Hop)
	if ask.ParentRunID != "" && to.Root == "" {
		from, parent, found, err := runs.Link(tx, ask.ParentRunID)
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
	conf := q.o.Config()
	why, err := runs.Judge(tx, &conf.Defaults.LoopGuard, to, ask.PassedBy, agentOf(conf, ask.Session), 0, now.UnixMilli())
	if err != nil || why == nil {
		return err
	}
	return &run.Refusal{Reason: why.Reason, Field: "rootRunId", Value: to.Root, Text: why.Text, HintText: why.HintText}
}

func (q *Queue) request(ask *run.Ask, now time.Time) *request {
	return &request{queue: q, ask: ask, now: now, newID: q.o.NewID(), key: ask.Session.String(), agentID: agentOf(q.o.Config(), ask.Session)}
}

// agentOf is the agent that owns a session; the default agent if the key names none.
func agentOf(c *config.Config, key coordination.SessionKey) string {
	if key.Agent != "" {
		return key.Agent
	}
	return c.DefaultAgentID()
}

// request is a run to be queued.
type request struct {
	queue   *Queue
	ask     *run.Ask
	now     time.Time
	newID   string // transcript id of a new session
	key     string
	agentID string

	prepared bool
	asked    eventstore.StreamAppend // events to append if it is accepted
	refused  error                   // refusal independent of the log, unless it was accepted before

	accepted run.Accepted
}

// prepare builds the events, possibly outside of the transaction: messages may be long.
func (r *request) prepare() {
	if !r.prepared {
		r.asked, r.refused = r.accept()
		r.prepared = true
	}
}

func (r *request) accept() (eventstore.StreamAppend, error) {
	r.ask.Pool = ""
	if where := r.queue.o.Config().PlacementOf(r.agentID); where.Remote() {
		r.ask.Pool = run.WorkerPool(r.agentID)
	}
	decided, err := run.Accept(*r.ask)
	if err == nil {
		err = r.model()
	}
	if err != nil {
		return eventstore.StreamAppend{}, err
	}
	a := eventstore.StreamAppend{Stream: coordination.RunStream(r.ask.RunID)}
	for _, d := range decided {
		e, err := eventstore.NewEvent{Type: d.Type, AgentID: r.agentID, Actor: r.actor(), CorrelationID: r.ask.ConversationID}.With(d.Data, r.now.UnixMilli())
		if err != nil {
			return a, err
		}
		a.Events = append(a.Events, e)
	}
	return a, a.Check()
}

// model checks that an explicitly requested model can be opened. Models of the session or configuration are only
// checked when the run starts, and have fallbacks.
func (r *request) model() error {
	if r.ask.Model == "" {
		return nil
	}
	_, err := r.queue.o.Models().Open(r.ask.Model)
	if e := (*catalogue.Error)(nil); errors.As(err, &e) {
		return &run.Refusal{Reason: run.CodeUnknownModel, Field: "model", Value: e.Ref, Text: e.Setting + " " + e.Problem,
			HintText: e.HintText + "; models.list shows the models that are configured"}
	}
	return err
}

func (r *request) actor() eventstore.Actor {
	switch {
	case r.ask.Human:
		return eventstore.ActorHuman
	case r.ask.FromAgent != "":
		return eventstore.ActorAgent
	}
	return eventstore.ActorSystem
}

func (r *request) decide(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	was, found, err := runs.Load(tx, r.ask.RunID)
	switch {
	case err != nil:
		return nil, err
	case found:
		r.accepted, err = repeated(tx, was)
		return nil, err
	}
	return r.admit(tx)
}

// admit returns the events for a run that is new.
func (r *request) admit(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	if r.prepare(); r.refused != nil {
		return nil, r.refused
	}
	ahead, err := r.checkRoom(tx)
	if err != nil {
		return nil, err
	}
	state, _, err := sessions.Load(tx, r.ask.Session)
	if err != nil {
		return nil, err
	}
	if state.Settings.Text("sendPolicy") == "deny" {
		return nil, &run.Refusal{Reason: run.CodeNotAllowed, Field: "sendPolicy", Value: "deny", Text: "send blocked by session policy",
			HintText: "set sendPolicy of session " + r.key + " to allow"}
	}
	appends, err := r.begin(tx, state)
	if err != nil {
		return nil, err
	}
	at := r.now.UnixMilli()
	r.accepted = run.Accepted{RunID: r.ask.RunID, SessionKey: r.key, AcceptedAt: at, Ahead: ahead}
	return append(appends, r.asked), nil
}

// repeated is the answer to a repeated request, whatever its other parameters.
func repeated(tx eventstore.Tx, was run.Result) (run.Accepted, error) {
	accepted := run.Accepted{RunID: was.RunID, SessionKey: was.SessionKey, AcceptedAt: was.QueuedAt, Again: true, Now: was}
	if was.State != run.Queued {
		return accepted, nil
	}
	open, err := runs.OpenOf(tx, was.SessionKey)
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

// checkRoom checks the queue limit, and returns the number of the session's runs ahead.
func (r *request) checkRoom(tx eventstore.Tx) (ahead int, err error) {
	of, err := workqueue.Of(tx, r.key)
	if err != nil {
		return 0, err
	}
	if of.Waiting >= r.queue.o.Limits.SessionWaiting {
		return 0, &run.Busy{SessionKey: r.key, Ahead: of.Waiting + of.Leased, OldestMs: r.since(of.Since)}
	}
	all, err := workqueue.Total(tx, workqueue.KindRun)
	if err != nil {
		return 0, err
	}
	if all.Waiting >= r.queue.o.Limits.Waiting {
		oldest, err := workqueue.Oldest(tx, workqueue.KindRun)
		if err != nil {
			return 0, err
		}
		return 0, &run.Busy{SessionKey: r.key, Ahead: all.Waiting, All: true, OldestMs: r.since(oldest)}
	}
	return of.Waiting + of.Leased, nil
}

// since is the time elapsed, 0 if it never happened.
func (r *request) since(at int64) int64 {
	if at == 0 {
		return 0
	}
	return max(r.now.UnixMilli()-at, 0)
}

// begin creates the session, if there is none.
func (r *request) begin(tx eventstore.Tx, state session.State) ([]eventstore.StreamAppend, error) {
	if state.Exists() {
		return nil, nil
	}
	values := map[string]json.RawMessage{}
	if r.ask.Label != "" {
		values["label"] = quoted(r.ask.Label)
	}
	if r.ask.SpawnedBy != "" && r.ask.Session.Kind == coordination.KeySubagent { // others have none
		values["spawnedBy"] = quoted(r.ask.SpawnedBy)
	}
	decided, err := session.Patch(state, session.PatchCommand{Command: session.Command{By: r.ask.By, NewID: r.newID}, Values: values},
		func(label string) (string, error) { return sessions.LabelHolder(tx, label) })
	if refusal := (*session.Refusal)(nil); errors.As(err, &refusal) {
		return nil, &run.Refusal{Reason: run.CodeInvalidAsk, Field: refusal.Field, Value: refusal.Value, Text: refusal.Text,
			HintText: "give another " + refusal.Field + ", or none"}
	}
	if err != nil {
		return nil, err
	}
	return sessions.Append(state, r.actor(), r.now.UnixMilli(), decided)
}

func quoted(text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // encoding text cannot fail
	}
	return quoted
}
