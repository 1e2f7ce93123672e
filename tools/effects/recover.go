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

// Recover records as unknown what the previous process has left without an outcome, calls and commands, before calls are made. It returns how
// many calls.
func (j *Journal) Recover(ctx context.Context) (n int, err error) {
	var open []intent
	var left []command
	err = j.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if open, err = openCalls(ctx, tx); err != nil {
			return err
		}
		left, err = openCommands(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := j.closeCommands(ctx, left); err != nil || len(open) == 0 {
		return 0, err
	}
	return j.closeCalls(ctx, open)
}

func (j *Journal) closeCalls(ctx context.Context, open []intent) (n int, err error) {
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

// The order of the joins keeps the cost from growing with the calls ever made.
const selectOpen = `SELECT s.name, e.agent_id, e.causation_id, e.data FROM unsettled u CROSS JOIN streams s ON s.id = u.stream_id
 CROSS JOIN events e ON e.stream_id = s.id AND e.version = 1 WHERE u.state = 'open' AND s.name >= ? AND s.name < ?`

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

// command is one that the previous process has left without an end.
type command struct {
	stream, agentID string
	last            coordination.ToolOutput
}

const selectLeft = `SELECT s.name, e.agent_id, e.data FROM unsettled u CROSS JOIN streams s ON s.id = u.stream_id
 CROSS JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
 WHERE u.state = 'open' AND s.name >= ? AND s.name < ?`

func openCommands(ctx context.Context, tx *sql.Tx) (left []command, err error) {
	from, to := toolcalls.StreamsOf(coordination.ToolOutputStreams)
	err = projections.EachRow(ctx, tx, "read commands without an end", selectLeft, []any{from, to}, func(rows *sql.Rows) error {
		var c command
		var data []byte
		if err := rows.Scan(&c.stream, &c.agentID, &data); err != nil {
			return err
		}
		if json.Unmarshal(data, &c.last) != nil { // it is redacted; it ends all the same
			c.last = coordination.ToolOutput{ProcessID: strings.TrimPrefix(c.stream, coordination.ToolOutputStreams)}
		}
		left = append(left, c)
		return nil
	})
	return left, err
}

// closeCommands ends commands, which have ended with the process that ran them: how far they came is unknown.
func (j *Journal) closeCommands(ctx context.Context, left []command) error {
	for i := range left {
		c := &left[i]
		d := c.last
		at := j.opts.Now().UnixMilli()
		d.From, d.Text, d.Dropped, d.AtMs = d.From+int64(len(d.Text)), "", 0, at
		d.Ended, d.Exit, d.Reason = true, 0, ReasonRestart
		d.EventRole = coordination.RoleObservability
		appends, err := eventstore.One(c.stream, eventstore.NewEvent{Type: coordination.TypeToolOutput, AgentID: c.agentID, Actor: eventstore.ActorSystem}, d, at)
		if err == nil {
			_, err = j.opts.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
		}
		if err != nil {
			return err
		}
		j.opts.Logger.Warn("how a command ended is unknown: the program ended while it was running", "process", d.ProcessID, "agent", c.agentID, "session", d.SessionKey, "run", d.RunID)
	}
	return nil
}
