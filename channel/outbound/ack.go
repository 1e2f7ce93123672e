package outbound

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Acks carries out acknowledgements: work of delivery.AckKind.
type Acks struct {
	Bots interface {
		React(ctx context.Context, account, place, message, emoji string, on bool) error
	}
	Logger *slog.Logger
}

// Do puts a reaction on a message, or removes it. A failure is logged, and the work is done: no answer waits for it. It is a worker.Func.
func (a *Acks) Do(ctx context.Context, _ workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
	var ack delivery.Ack
	if err := json.Unmarshal(what.Payload, &ack); err != nil { // redacted
		return nil, nil //nolint:nilerr // there is nothing to do any more
	}
	err := a.Bots.React(ctx, ack.AccountID, ack.Place(), ack.MessageID, ack.Emoji, !ack.Remove)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		a.Logger.Warn("cannot acknowledge a message", "message", ack.MessageID, "remove", ack.Remove, "err", err)
	}
	return nil, nil
}

const selectAck = "SELECT e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = 'work.scheduled' ORDER BY e.seq LIMIT 1"

// unack schedules the removal of a run's acknowledgement, if there is one and the configuration wants it. No run that is
// repeated comes here, so a stopped one is over too.
func (r *Replies) unack(tx eventstore.Tx, asked *coordination.RunQueued, result *run.Result, now time.Time) ([]eventstore.StreamAppend, error) {
	if !r.Config().Messages.RemoveAck || asked.MessageID == "" {
		return nil, nil
	}
	var ack *delivery.Ack
	err := tx.Query(selectAck, []any{coordination.WorkStream(delivery.AckEffect(asked.MessageID, result.AgentID))}, func(row eventstore.Row) error {
		var scheduled coordination.WorkScheduled
		var read delivery.Ack
		if !row.Null(0) && json.Unmarshal([]byte(row.Text(0)), &scheduled) == nil && json.Unmarshal(scheduled.Payload, &read) == nil {
			ack = &read
		}
		return nil
	})
	if err != nil || ack == nil {
		return nil, wrapped("find the acknowledgement of a message", err)
	}
	ack.Remove = true
	effectID := "unack/" + result.RunID
	what, err := ack.Work(effectID)
	if err == nil {
		err = work.Check(&what)
	}
	if err != nil {
		return nil, err
	}
	a := eventstore.StreamAppend{Stream: coordination.WorkStream(effectID), Expect: eventstore.NoStream()}
	err = a.Add(eventstore.NewEvent{Type: coordination.TypeWorkScheduled, AgentID: what.Owner}, what, now.UnixMilli())
	return []eventstore.StreamAppend{a}, err
}

func wrapped(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
