package collabtools

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
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

type toolCall struct {
	call    *tools.Call
	request collaborate.Request
	masked  bool

	// Read from the log at each decision.
	collabID  string // id of the request
	duplicate bool   // accepted before
	refused   *collaborate.Refusal
}

// collaborate accepts a request, waits a while for its outcome and reports it.
func (s *Service) collaborate(ctx context.Context, call *tools.Call, args *arguments) (tool.Output, error) {
	a := &toolCall{call: call}
	a.request, a.masked = args.request(call)
	if err := s.accept(ctx, a); err != nil {
		return tool.Output{}, err
	}
	if a.refused != nil {
		return refuse(a.refused)
	}
	row, err := s.settled(ctx, a.collabID)
	if err != nil {
		return tool.Output{}, err
	}
	return a.answer(row)
}

// errLook reports that the service has to be asked about another place, such as a thread opened meanwhile.
var errLook = errors.New("a place has to be looked up")

// mostLooks bounds these lookups per request.
const mostLooks = 3

// accept decides about the request and appends the decision.
func (s *Service) accept(ctx context.Context, a *toolCall) error {
	from := originOf(a.call)
	channel := s.channelOf(a.call.Config, &from, &a.request)
	situation := s.situation(a.call.Config, channel, from.in(channel))
	if a.refused = s.early(situation, a.request); a.refused != nil {
		return s.refuses(ctx, a)
	}
	var found = places{}
	for n := 1; ; n++ {
		err := s.o.Log.View(ctx, func(tx *sql.Tx) error {
			return read(projections.Reading(ctx, tx), a.call.Config, situation, a.request, s.o.Now().UnixMilli())
		})
		if err != nil {
			return err
		}
		if err = s.lookUpPlaces(ctx, situation, a.request, found); errors.As(err, &a.refused) {
			return s.refuses(ctx, a)
		} else if err != nil {
			return err
		}
		situation.Places = found.list()
		now := s.o.Now()
		_, err = s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return s.decide(tx, a, situation, found, now)
		})
		if !errors.Is(err, errLook) {
			return err
		}
		if n == mostLooks {
			return fmt.Errorf("decide about a request from %s to %s: %w", a.request.From, a.request.Target, err)
		}
	}
}

// early returns the refusal that needs neither the log nor the service, nil for none.
func (s *Service) early(situation *collaborate.Situation, r collaborate.Request) *collaborate.Refusal {
	_, no := collaborate.Decide(situation, r, s.o.Now().UnixMilli())
	if no == nil || !slices.Contains([]string{collaborate.CodeInvalid, collaborate.CodeSelf, collaborate.CodeForbidden, collaborate.CodeMapping,
		collaborate.CodeAccount}, no.Reason) {
		return nil
	}
	return s.explained(situation, no)
}

func (s *Service) explained(situation *collaborate.Situation, no *collaborate.Refusal) *collaborate.Refusal {
	if no.Reason != collaborate.CodeMapping || len(situation.Bots) > 0 {
		return no
	}
	said := *no
	said.Text += "; no bot is connected to " + titleOf(situation.Channel)
	if s.channel(situation.Channel) == nil {
		said.HintText = fmt.Sprintf("set channels.%[1]s.enabled to true, and add accounts with their tokens to channels.%[1]s.accounts; then %[2]s",
			situation.Channel, no.HintText)
	}
	return &said
}

// decide runs in the transaction and returns the events of the decision and the work of posting.
func (s *Service) decide(tx eventstore.Tx, a *toolCall, situation *collaborate.Situation, found places, now time.Time) ([]eventstore.StreamAppend, error) {
	a.collabID, a.duplicate, a.refused = "", false, nil // may be called again
	key, err := once.KeyOf(tx, a.call, Name)
	if err != nil {
		return nil, err
	}
	first, again, err := s.before(tx, a, key.Done())
	if again || err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	if err := read(tx, a.call.Config, situation, a.request, at); err != nil {
		return nil, err
	}
	if !found.knows(situation.RequiredPlaces(a.request)) {
		return nil, errLook
	}
	p, no := collaborate.Decide(situation, a.request, at)
	if no != nil {
		a.refused = s.explained(situation, no)
		return s.refusal(tx, a, now)
	}
	if p.Earlier != nil {
		a.collabID, a.duplicate = p.Earlier.RequestID, true
		return nil, nil
	}
	if a.collabID, err = repeated(tx, a.call, p); a.collabID != "" || err != nil {
		a.duplicate = true
		return nil, err
	}
	a.collabID = s.o.NewID()
	of, err := s.contextOf(tx, a.call, p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := &requestTask{Request: a.request, Session: situation.Session, Plan: *p, Context: of, At: at, Try: 1, AskedID: a.call.AskedID}
	return t.appends(a.collabID, first, now)
}

// before finds the request that the same call has made before, unless that failed: then the call makes it again. It returns the event id
// of a new request.
func (s *Service) before(tx eventstore.Tx, a *toolCall, id eventstore.ID) (first eventstore.ID, again bool, err error) {
	collabID, found, err := requestOf(tx, id)
	if !found || err != nil {
		return id, false, err
	}
	row, there, err := responses.Load(tx, collabID)
	switch {
	case err != nil:
		return id, false, err
	case there && row.Delivery != collaborate.StatusFailed:
		a.collabID, a.duplicate = collabID, true
		return id, true, nil
	}
	return eventstore.ID{}, false, nil
}

// repeated returns the request that the run made before a restart interrupted it, "" for none. The repeated run may have another call
// id, and time may have passed.
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
	return responses.Repeated(tx, p.From, p.Content, first.QueuedAt, func(runID string) (bool, error) {
		one, _, err := runs.Load(tx, runID)
		return run.RootOf(runID, one.RetryOf) == own.RetryOf, err
	})
}

const selectRequest = `SELECT json_extract(data, '$.collabId') FROM events WHERE id = ?`

// requestOf returns the request of the event with an id; none for the zero id.
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

// contextOf returns the context of a request's events: the work session of the thread, else of the run, else of the run's task, else a
// new one.
func (s *Service) contextOf(tx eventstore.Tx, call *tools.Call, thread string) (c coordination.Context, err error) {
	if c, err = whereAsked(tx, call); err != nil {
		return c, err
	}
	last, found, err := responses.LastIn(tx, thread)
	if err != nil {
		return c, err
	}
	switch {
	case found && last.WorkSessionID != "":
		c.WorkSessionID = last.WorkSessionID
	case c.WorkSessionID != "":
	case call.RunID == "":
		c.WorkSessionID = "ws_" + s.o.NewID()
	default:
		one, _, err := runs.Load(tx, call.RunID)
		if err != nil {
			return c, err
		}
		c.WorkSessionID = messenger.RunWorkSession(run.RootOf(call.RunID, one.RetryOf))
	}
	return c, nil
}

// whereAsked returns the work session of a run, else of its task; a refusal begins none.
func whereAsked(tx eventstore.Tx, call *tools.Call) (c coordination.Context, err error) {
	c = coordination.Context{WorkSessionID: call.WorkSessionID, TaskID: call.TaskID}
	if c.WorkSessionID == "" && c.TaskID != "" {
		c.WorkSessionID, err = conversations.WorkSessionOfTask(tx, c.TaskID)
	}
	return c, err
}

func (s *Service) refuses(ctx context.Context, a *toolCall) error {
	now := s.o.Now()
	_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return s.refusal(tx, a, now) })
	return err
}

// refusal returns the event of a refusal, one per call. Faults in the wording of a request are reported to the agent only.
func (s *Service) refusal(tx eventstore.Tx, a *toolCall, now time.Time) ([]eventstore.StreamAppend, error) {
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
	collabID := s.o.NewID()
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

// event converts a decision to an event. cause is the id of the event that it follows from, or "".
func event(e collaborate.Event, actor eventstore.Actor, cause string, now time.Time) (eventstore.NewEvent, error) {
	return eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor, CausationID: cause}.With(e.Data, now.UnixMilli())
}

// requestTask is an accepted request as its delivery carries it.
type requestTask struct {
	Request collaborate.Request  `json:"request"`
	Session collaborate.Session  `json:"session"`
	Plan    collaborate.Plan     `json:"plan"`
	Context coordination.Context `json:"context"`
	At      int64                `json:"at"`                // time of acceptance, ms since 1970
	Try     int                  `json:"try"`               // number of the decision, from 1
	AskedID string               `json:"askedId,omitempty"` // event that requested the run
}

func (t *requestTask) effect(collabID string) string {
	if t.Try == 1 {
		return "collab/" + collabID
	}
	return fmt.Sprintf("collab/%s/%d", collabID, t.Try)
}

// appends returns the acceptance event, with the id first unless that is zero, and the work of posting it.
func (t *requestTask) appends(collabID string, first eventstore.ID, now time.Time) ([]eventstore.StreamAppend, error) {
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

// delivery returns the post. Its events are the system's, in the context of the request.
func (t *requestTask) delivery(collabID string) (*delivery.Delivery, error) {
	p := &t.Plan
	detail, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	del := &delivery.Delivery{Context: t.Context, Channel: coordination.OtherChannel(p.ChannelID), Purpose: delivery.Request, AgentID: p.From, AccountID: p.AccountID, GuildID: p.GuildID,
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

const kindCollab = "collab"

func scheduleDelivery(del *delivery.Delivery, effectID string, now time.Time) (eventstore.StreamAppend, error) {
	what, err := del.Work(effectID, 0)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("ask for %s: %w", effectID, err)
	}
	return schedule(what, now)
}

func schedule(what coordination.WorkScheduled, now time.Time) (eventstore.StreamAppend, error) {
	a, err := worker.Schedule(what)
	for i := range a.Events {
		a.Events[i] = a.Events[i].WithTS(now.UnixMilli())
	}
	return a, err
}
