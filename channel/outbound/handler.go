package outbound

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const (
	leaseTime = 5 * time.Minute  // of one attempt
	stepTime  = 90 * time.Second // minimum left of it before a step: a turn, and an answer
	lostPause = time.Second      // delay after an attempt whose lease has expired
	restart   = "restart"        // a reason of Lost
)

// Begin implements worker.Handler.
func (h *Handler) Begin(_ eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	return item.Appends(coordination.TypeWorkLeased, coordination.WorkAttempt{Attempt: item.Attempt + 1, LeaseUntilMs: now.Add(leaseTime).UnixMilli()}, now)
}

// Lost implements worker.Handler: the delivery is retried, searching first for what may have been done.
func (h *Handler) Lost(_ eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	data := coordination.WorkAttempt{Attempt: item.Attempt, Reason: why}
	if why != restart {
		data.DueAtMs = now.Add(lostPause).UnixMilli()
	}
	return item.Appends(coordination.TypeWorkLeaseExpired, data, now)
}

// Refused implements worker.Refuser. The outcome of a step in progress is unknown.
func (h *Handler) Refused(tx eventstore.Tx, item workqueue.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	a := attempt{Handler: h, item: item}
	err := tx.Query(selectStream, []any{coordination.WorkStream(item.EffectID)}, func(row eventstore.Row) error {
		e := eventstore.Event{Seq: row.Int(0), Type: row.Text(1), Ver: int(row.Int(2)), TS: row.Int(3), Actor: eventstore.Actor(row.Text(4))}
		if !row.Null(5) {
			e.Data = json.RawMessage(row.Text(5))
		}
		return a.fold(&e)
	})
	if err != nil {
		return nil, err
	}
	o := delivery.Outcome{State: delivery.Failed, ThreadID: a.progress.ThreadID, ThreadName: a.progress.ThreadName, MessageIDs: a.progress.MessageIDs,
		SentAt: a.progress.SentAt, Code: collaborate.CodeUnavailable, Text: "it was given up: " + work.Tidy(why.Error()), Escalate: true}
	if a.progress.Unsure() {
		o.State, o.Code = delivery.Unknown, collaborate.CodeUnknown
	}
	own, err := a.ends(&o, now)
	if err != nil {
		return nil, err
	}
	more, err := a.follows(tx, &o, now)
	return append(own, more...), err
}

const selectStream = "SELECT e.seq, e.type, e.ver, e.ts, e.actor, e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? ORDER BY e.version"

type attempt struct {
	*Handler
	item     workqueue.Item
	known    bool // the scheduled delivery is readable
	delivery delivery.Delivery
	progress delivery.Progress
	since    int64 // seq of the first attempt's event: messages received before it do not belong to the delivery

	// failure is the last step's, not yet in the log: it is stored with its consequences.
	failure *coordination.DiscordOutbound
}

func (a *attempt) fold(e *eventstore.Event) error {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	data := projections.Current(e).Data
	if e.Type == coordination.TypeWorkScheduled {
		if e.Seq != a.item.Seq || data == nil {
			return nil
		}
		var what coordination.WorkScheduled
		if err := json.Unmarshal(data, &what); err != nil {
			return fmt.Errorf("read the scheduled delivery: %w", err)
		}
		if err := json.Unmarshal(what.Payload, &a.delivery); err != nil {
			return fmt.Errorf("read delivery: %w", err)
		}
		a.known = true
		return nil
	}
	if e.Type == coordination.TypeWorkLeased && a.since == 0 {
		a.since = e.Seq
	}
	_, err := a.progress.Apply(e.Type, data, e.TS)
	return err
}

// workEvent is the event alone, appended together with others of the delivery.
func workEvent(item *workqueue.Item, typ string, data coordination.WorkAttempt, now time.Time) (eventstore.NewEvent, error) {
	a, err := item.Append(typ, data, now)
	if err != nil {
		return eventstore.NewEvent{}, err
	}
	return a.Events[0], nil
}

func newEvent(typ, agent string, data any, now time.Time) (eventstore.NewEvent, error) {
	return eventstore.NewEvent{Type: typ, AgentID: agent}.With(data, now.UnixMilli())
}
