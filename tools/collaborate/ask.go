package collaborate

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/response"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/once"
)

// asking is one call of the tool.
type asking struct {
	call    *tools.Call
	request collaborate.Request
	masked  bool

	// What the log says, each time that it is decided.
	collabID  string // of the request that it is
	duplicate bool   // which was taken on before
	refused   *collaborate.Refusal
}

// collaborate takes a request on, waits for a while for what becomes of it, and says that.
func (d *Desk) collaborate(ctx context.Context, call *tools.Call, args *arguments) (tool.Output, error) {
	a := &asking{call: call}
	a.request, a.masked = args.request(call)
	if err := d.takeOn(ctx, a); err != nil {
		return tool.Output{}, err
	}
	if a.refused != nil {
		return refuse(a.refused)
	}
	row, err := d.settled(ctx, a.collabID)
	if err != nil {
		return tool.Output{}, err
	}
	return a.answer(row)
}

// errLook says that something has to be asked for which was not before: a thread that somebody else has opened meanwhile.
var errLook = errors.New("a place has to be looked at")

// mostLooks is how often that is done for one request.
const mostLooks = 3

// takeOn decides, and appends what follows.
func (d *Desk) takeOn(ctx context.Context, a *asking) error {
	session := sessionOf(a.call)
	s := d.situation(a.call.Config, session)
	if a.refused = d.early(s, a.request); a.refused != nil {
		return d.refuses(ctx, a)
	}
	var found = places{}
	for n := 1; ; n++ {
		err := d.o.Log.View(ctx, func(tx *sql.Tx) error {
			return read(projections.Reading(ctx, tx), a.call.Config, s, a.request, d.o.Now().UnixMilli())
		})
		if err != nil {
			return err
		}
		if err = d.look(ctx, s, a.request, found); errors.As(err, &a.refused) {
			return d.refuses(ctx, a)
		} else if err != nil {
			return err
		}
		s.Places = found.list()
		now := d.o.Now()
		_, err = d.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return d.decide(tx, a, s, found, now) })
		if !errors.Is(err, errLook) {
			return err
		}
		if n == mostLooks {
			return fmt.Errorf("decide about a request of %s to %s: %w", a.request.From, a.request.Target, err)
		}
	}
}

// early is why a request can be refused without a look at the log or at Discord, nil if it cannot.
func (d *Desk) early(s *collaborate.Situation, r collaborate.Request) *collaborate.Refusal {
	_, no := collaborate.Decide(s, r, d.o.Now().UnixMilli())
	if no == nil || !slices.Contains([]string{collaborate.CodeInvalid, collaborate.CodeSelf, collaborate.CodeForbidden, collaborate.CodeMapping,
		collaborate.CodeAccount}, no.Reason) {
		return nil
	}
	return d.explained(s, no)
}

// explained says what to set where no bot is there at all.
func (d *Desk) explained(s *collaborate.Situation, no *collaborate.Refusal) *collaborate.Refusal {
	if no.Reason != collaborate.CodeMapping || len(s.Bots) > 0 {
		return no
	}
	said := *no
	said.Text += "; no bot is connected to Discord at all"
	if d.o.Discord == nil {
		said.Mend = "set channels.discord.enabled to true, and add accounts with their tokens to channels.discord.accounts; then " + no.Mend
	}
	return &said
}

// decide is the transaction: what was decided, with what asks for the posts.
func (d *Desk) decide(tx eventstore.Tx, a *asking, s *collaborate.Situation, found places, now time.Time) ([]eventstore.StreamAppend, error) {
	a.collabID, a.duplicate, a.refused = "", false, nil // it may be called again
	key, err := once.KeyOf(tx, a.call, Name)
	if err != nil {
		return nil, err
	}
	first, again, err := d.before(tx, a, key.Done())
	if again || err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	if err := read(tx, a.call.Config, s, a.request, at); err != nil {
		return nil, err
	}
	if !found.knows(s.Look(a.request)) {
		return nil, errLook
	}
	p, no := collaborate.Decide(s, a.request, at)
	if no != nil {
		a.refused = d.explained(s, no)
		return d.refusal(tx, a, now)
	}
	if p.Earlier != nil {
		a.collabID, a.duplicate = p.Earlier.RequestID, true
		return nil, nil
	}
	if a.collabID, err = repeated(tx, a.call, p); a.collabID != "" || err != nil {
		a.duplicate = true
		return nil, err
	}
	a.collabID = d.o.NewID()
	of, err := d.contextOf(tx, a.call, p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := &task{Request: a.request, Session: s.Session, Plan: *p, Context: of, At: at, Try: 1, AskedID: a.call.AskedID}
	return t.appends(a.collabID, first, now)
}

// before finds the request that the same call has made before, unless that has failed: then it is made again. It gives the id of the event that
// makes a new one.
func (d *Desk) before(tx eventstore.Tx, a *asking, id eventstore.ID) (first eventstore.ID, again bool, err error) {
	collabID, found, err := requestOf(tx, id)
	if !found || err != nil {
		return id, false, err
	}
	row, there, err := response.Load(tx, collabID)
	switch {
	case err != nil:
		return id, false, err
	case there && row.Delivery != collaborate.StatusFailed:
		a.collabID, a.duplicate = collabID, true
		return id, true, nil
	}
	return eventstore.ID{}, false, nil
}

// repeated is the request that a run has made before a restart has broken it off, and makes again as it is repeated; "" for none. The model may have
// called the tool under another id since, and a while may have gone by.
func repeated(tx eventstore.Tx, call *tools.Call, p *collaborate.Plan) (collabID string, err error) {
	if call.RunID == "" {
		return "", nil
	}
	own, _, err := runs.Load(tx, call.RunID)
	if err != nil || own.RetryOf == "" {
		return "", err
	}
	first, found, err := runs.Load(tx, own.RetryOf)
	if err != nil || !found {
		return "", err
	}
	return response.Repeated(tx, p.From, p.Content, first.QueuedAt, func(runID string) (bool, error) {
		one, _, err := runs.Load(tx, runID)
		return run.RootOf(runID, one.RetryOf) == own.RetryOf, err
	})
}

const selectRequest = `SELECT json_extract(data, '$.collabId') FROM events WHERE id = ?`

// requestOf is the request that an event with an id is about, if there is such an event. The zero id is that of none.
func requestOf(tx eventstore.Tx, id eventstore.ID) (collabID string, found bool, err error) {
	if id.IsZero() {
		return "", false, nil
	}
	err = tx.Query(selectRequest, []any{id[:]}, func(row eventstore.Row) error {
		collabID, found = row.Text(0), true
		return nil
	})
	return collabID, found, err
}

// contextOf is where the events of a request belong: to the work session of the thread, as all that was asked there, else to that of the run, else to
// that of its task, else to one that the run begins.
func (d *Desk) contextOf(tx eventstore.Tx, call *tools.Call, thread string) (c coordination.Context, err error) {
	if c, err = whereAsked(tx, call); err != nil {
		return c, err
	}
	last, found, err := response.LastIn(tx, thread)
	if err != nil {
		return c, err
	}
	switch {
	case found && last.WorkSessionID != "":
		c.WorkSessionID = last.WorkSessionID
	case c.WorkSessionID != "":
	case call.RunID == "":
		c.WorkSessionID = "ws_" + d.o.NewID()
	default:
		one, _, err := runs.Load(tx, call.RunID)
		if err != nil {
			return c, err
		}
		c.WorkSessionID = a2a.RunWorkSession(run.RootOf(call.RunID, one.RetryOf))
	}
	return c, nil
}

// whereAsked is the work session of a run, else that of its task; none is begun for what is refused.
func whereAsked(tx eventstore.Tx, call *tools.Call) (c coordination.Context, err error) {
	c = coordination.Context{WorkSessionID: call.WorkSessionID, TaskID: call.TaskID}
	if c.WorkSessionID == "" && c.TaskID != "" {
		c.WorkSessionID, err = conversation.WorkSessionOfTask(tx, c.TaskID)
	}
	return c, err
}

// refuses appends the event of what was refused early.
func (d *Desk) refuses(ctx context.Context, a *asking) error {
	now := d.o.Now()
	_, err := d.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return d.refusal(tx, a, now) })
	return err
}

// refusal is the event of a refusal, once for each call. What is wrong with the words of a request is told to nobody but the agent.
func (d *Desk) refusal(tx eventstore.Tx, a *asking, now time.Time) ([]eventstore.StreamAppend, error) {
	no := a.refused
	if no.Reason == collaborate.CodeInvalid || no.Reason == collaborate.CodeConflict {
		return nil, nil
	}
	key, err := once.KeyOf(tx, a.call, Name)
	if err != nil {
		return nil, err
	}
	id := key.Refused()
	if _, told, err := requestOf(tx, id); told || err != nil {
		return nil, err
	}
	of, err := whereAsked(tx, a.call)
	if err != nil {
		return nil, err
	}
	collabID := d.o.NewID()
	hop := a.call.Hop + 1
	of.Hop = &hop
	e, stream := no.Refused(of, collabID, a.call.AgentID, a.request.Target), coordination.CollabStream(collabID)
	if no.Reason == collaborate.CodePairLimit {
		e = no.Limited(of)
		stream = coordination.StreamOf(&coordination.Record{Type: e.Type, AgentID: e.AgentID})
	}
	one, err := event(e, eventstore.ActorAgent, a.call.AskedID, now)
	one.ID = id
	return []eventstore.StreamAppend{{Stream: stream, Events: []eventstore.NewEvent{one}}}, err
}

// event is what is appended of a decision. cause is the id of the event that it follows from; "".
func event(e collaborate.Event, actor eventstore.Actor, cause string, now time.Time) (eventstore.NewEvent, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return eventstore.NewEvent{}, fmt.Errorf("write %s: %w", e.Type, err)
	}
	return eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor, CausationID: cause, Data: data}.WithTS(now.UnixMilli()), nil
}

// task is a request that was taken on, as its delivery carries it.
type task struct {
	Request collaborate.Request  `json:"request"`
	Session collaborate.Session  `json:"session"`
	Plan    collaborate.Plan     `json:"plan"`
	Context coordination.Context `json:"context"`
	At      int64                `json:"at"`                // when it was taken on, ms since 1970
	Try     int                  `json:"try"`               // counted from 1: how often it was decided
	AskedID string               `json:"askedId,omitempty"` // the event that asked for the run
}

// effect is the id of the delivery.
func (t *task) effect(collabID string) string {
	if t.Try == 1 {
		return "collab/" + collabID
	}
	return fmt.Sprintf("collab/%s/%d", collabID, t.Try)
}

// appends are the event that the request is taken on, whose id is first unless that is zero, and the work of posting it.
func (t *task) appends(collabID string, first eventstore.ID, now time.Time) ([]eventstore.StreamAppend, error) {
	of := eventstore.StreamAppend{Stream: coordination.CollabStream(collabID)}
	if t.Try == 1 {
		of.Expect = eventstore.NoStream()
	}
	requested, err := event(t.Plan.Requested(t.Context, collabID), eventstore.ActorAgent, t.AskedID, now)
	if err != nil {
		return nil, err
	}
	requested.ID = first
	of.Events = []eventstore.NewEvent{requested}
	del, err := t.delivery(collabID)
	if err != nil {
		return nil, err
	}
	posts, err := scheduleDelivery(del, t.effect(collabID), now)
	return []eventstore.StreamAppend{of, posts}, err
}

// delivery is what is posted. Its events are told as the system's, and belong where the request does.
func (t *task) delivery(collabID string) (*delivery.Delivery, error) {
	p := &t.Plan
	detail, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write what is asked: %w", err)
	}
	del := &delivery.Delivery{Context: t.Context, Purpose: delivery.Request, AgentID: p.From, AccountID: p.AccountID, GuildID: p.GuildID,
		ChannelID: p.ChannelID, ThreadID: p.ThreadID, Messages: p.Messages, Notify: p.Notify, Route: p.Route, Seed: p.Seed(), CollabID: collabID,
		RunID: p.RunID, Detail: detail}
	del.Context.EventRole = coordination.RoleObservability
	del.Context.Hop = &p.Hop
	if p.Route == collaborate.RouteNew {
		del.Open = &delivery.Opening{Name: p.ThreadName, Kind: kindCollab, Starter: p.Starter, ReuseKey: p.ReuseKey, FromAgent: p.From,
			ToAgent: p.Target}
	}
	return del, nil
}

// kindCollab is the kind of threads that are opened here.
const kindCollab = "collab"

// scheduleDelivery asks for a delivery.
func scheduleDelivery(del *delivery.Delivery, effectID string, now time.Time) (eventstore.StreamAppend, error) {
	what, err := del.Work(effectID, 0)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("ask for %s: %w", effectID, err)
	}
	return schedule(what, now)
}

// schedule asks for work.
func schedule(what coordination.WorkScheduled, now time.Time) (eventstore.StreamAppend, error) {
	a, err := worker.Schedule(what)
	for i := range a.Events {
		a.Events[i] = a.Events[i].WithTS(now.UnixMilli())
	}
	return a, err
}
