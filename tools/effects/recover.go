package effects

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/toolcalls"
)

// Recover records as unknown what the previous process has left without an outcome, before calls are made, and returns how many.
func (j *Journal) Recover(ctx context.Context) (n int, err error) {
	var open []intent
	err = j.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = openCalls(ctx, tx)
		return err
	})
	if err != nil || len(open) == 0 {
		return 0, err
	}
	left := &state{unknown: ReasonRestart, text: "the process ended"}
	for i := range open {
		_, err := j.opts.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return open[i].close(left, j.opts.Now().UnixMilli())
		})
		if err != nil {
			return i, err
		}
		j.opts.Logger.Warn("the outcome of a tool call is unknown: the program ended while it was under way", "tool", open[i].Tool, "call", open[i].CallID,
			"run", open[i].RunID)
	}
	return len(open), nil
}

const selectOpen = `SELECT s.name, e.agent_id, e.causation_id, e.data FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = 1
 WHERE s.name >= ? AND s.name < ? AND NOT EXISTS (SELECT 1 FROM events l WHERE l.stream_id = s.id AND l.version = 2)`

func openCalls(ctx context.Context, tx *sql.Tx) (open []intent, err error) {
	from, to := toolcalls.Streams()
	err = projections.EachRow(ctx, tx, "read open tool calls", selectOpen, []any{from, to}, func(rows *sql.Rows) error {
		var c intent
		var data []byte
		if err := rows.Scan(&c.stream, &c.agentID, &c.cause, &data); err != nil {
			return err
		}
		c.CallID = strings.TrimPrefix(c.stream, coordination.ToolCallStreams)
		if json.Unmarshal(data, &c.ToolCalled) != nil { // it is redacted, or of another program; it ends all the same
			c.ToolCalled = coordination.ToolCalled{CallID: c.CallID}
		}
		open = append(open, c)
		return nil
	})
	return open, err
}
