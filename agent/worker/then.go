package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Ended is the end of an item.
type Ended struct {
	workqueue.Item                             // before the end
	What           *coordination.WorkScheduled // the scheduled data; nil if redacted
	Result         json.RawMessage             // of a finished item
	Error          string                      // why it was given up; "": finished
}

// alone is the event that ends an attempt, without consequences.
func alone(_ eventstore.Tx, item *workqueue.Item, typ string, data coordination.WorkAttempt, now time.Time) ([]eventstore.StreamAppend, error) {
	return item.Appends(typ, data, now)
}

// ends are the events that end an item, with consequences. An error is the log's.
func (t *task) ends(tx eventstore.Tx, item *workqueue.Item, typ string, data coordination.WorkAttempt, now time.Time) ([]eventstore.StreamAppend, error) {
	appends, err := item.Appends(typ, data, now)
	if err != nil || t.policy.Then == nil {
		return appends, err
	}
	end := Ended{Item: *item, Result: data.Result}
	if typ == coordination.TypeWorkDead {
		end.Error = cmp.Or(data.Error, "it does not say why")
	}
	more, err := t.then(tx, end, now)
	if err != nil && t.worker.opts.Log.Fatal(err) {
		return nil, err
	}
	if err != nil {
		t.worker.opts.Logger.Error("cannot determine the follow-up events of a work item; skipped", "effect", item.EffectID,
			"kind", item.Kind, "err", err)
	}
	return append(appends, more...), nil
}

// then returns the consequences of an end, none on an error.
func (t *task) then(tx eventstore.Tx, end Ended, now time.Time) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if p := recover(); p != nil {
			appends, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if end.What, err = scheduled(tx, end.Seq); err != nil {
		return nil, err
	}
	if appends, err = t.policy.Then(tx, end, now); err != nil {
		return nil, err
	}
	return appends, nil
}

const selectScheduled = "SELECT type, ver, actor, data FROM events WHERE seq = ?"

// scheduled is the data an event has scheduled, nil if redacted.
func scheduled(tx eventstore.Tx, seq int64) (what *coordination.WorkScheduled, err error) {
	found := false
	err = tx.Query(selectScheduled, []any{seq}, func(row eventstore.Row) error {
		if found = true; row.Null(3) {
			return nil
		}
		e := eventstore.Event{Seq: seq, Type: row.Text(0), Ver: int(row.Int(1)), Actor: eventstore.Actor(row.Text(2)), Data: json.RawMessage(row.Text(3))}
		what = &coordination.WorkScheduled{}
		return json.Unmarshal(projections.Current(&e).Data, what)
	})
	if err == nil && !found {
		err = eventstore.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read what was scheduled at %d: %w", seq, err)
	}
	return what, nil
}
