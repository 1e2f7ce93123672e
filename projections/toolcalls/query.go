// Package toolcalls reads the recorded calls of tools with an outside effect from their streams: the state of a call is its stream. Which
// calls are open or unknown is also in a table, which triggers of the log keep.
package toolcalls

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// States of a recorded call.
const (
	StateOpen    = "open" // under way, or left open by a process that is gone
	StateOK      = "ok"
	StateError   = "error"
	StateUnknown = "unknown"
)

// States lists the states.
func States() []string { return []string{StateOpen, StateOK, StateError, StateUnknown} }

// Call is a call as the log has it. Times are ms since 1970.
type Call struct {
	CallID        string `json:"callId"`
	Attempt       int    `json:"attempt"`
	State         string `json:"state"`
	Tool          string `json:"tool"` // "" if it was redacted
	Server        string `json:"server,omitempty"`
	Repeat        string `json:"repeat,omitempty"`
	AgentID       string `json:"agentId,omitempty"`
	SessionKey    string `json:"sessionKey"`
	RunID         string `json:"runId,omitempty"`
	WorkSessionID string `json:"workSessionId,omitempty"`
	TaskID        string `json:"taskId,omitempty"`
	Entry         string `json:"entry,omitempty"` // run, http, wire, cli
	By            string `json:"by,omitempty"`    // the client, outside of a run
	CalledAt      int64  `json:"calledAtMs"`
	Took          int64  `json:"tookMs,omitempty"`
	Reason        string `json:"reason,omitempty"` // of an unknown outcome
	Code          string `json:"code,omitempty"`   // of a call that was not made, or refused
	Text          string `json:"text,omitempty"`   // the result, or what is known of the failure

	Arguments      json.RawMessage `json:"arguments,omitempty"` // secrets masked; absent if they are long
	ArgumentsBytes int             `json:"argumentsBytes,omitempty"`

	Seq   int64 `json:"seq"` // of its tool.called
	Place int64 `json:"-"`   // among all calls, the newest highest
}

// Query selects calls.
type Query struct {
	Agent  string // in lower case; "" for all, as with the others
	Tool   string
	Server string
	State  string
	Before int64 // a Place; 0: the newest calls
	Limit  int
}

// The plus keeps the order by age from a sort of all calls. The few that are open or unknown have a table.
const (
	selectCalls     = selectFrom + ` FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = 1` + selectWhere
	selectUnsettled = selectFrom + ` FROM unsettled u CROSS JOIN streams s ON s.id = u.stream_id CROSS JOIN events e ON e.stream_id = s.id AND e.version = 1` +
		selectWhere + ` AND u.state = ?7 ORDER BY u.stream_id DESC LIMIT ?8`
	selectFrom  = `SELECT s.id, s.name, e.seq, e.agent_id, e.data, l.type, l.data`
	selectWhere = ` LEFT JOIN events l ON l.stream_id = s.id AND l.version = 2
 WHERE s.id < ?1 AND +s.name >= ?2 AND +s.name < ?3 AND (?4 = '' OR e.data ->> '$.server' = ?4) AND (?5 = '' OR e.data ->> '$.tool' = ?5)
 AND (?6 = '' OR e.agent_id = ?6)
 AND (?7 = '' OR ?7 = CASE WHEN l.type IS NULL THEN 'open' WHEN l.type = 'tool.outcome_unknown' THEN 'unknown' WHEN l.data ->> '$.isError' THEN 'error' ELSE 'ok' END)`
	newest = ` ORDER BY s.id DESC LIMIT ?8`
)

// List returns the newest calls first.
func List(ctx context.Context, tx *sql.Tx, q Query) ([]Call, error) {
	from, to := Streams()
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	args := []any{before, from, to, q.Server, q.Tool, q.Agent, q.State, q.Limit}
	query := selectCalls + newest
	if q.State == StateOpen || q.State == StateUnknown {
		query = selectUnsettled
	}
	list := []Call{}
	err := projections.EachRow(ctx, tx, "list tool calls", query, args, func(rows *sql.Rows) error {
		c, err := scan(rows)
		list = append(list, c)
		return err
	})
	return list, err
}

// Streams are the limits of the names of calls' streams: the first, and the first behind them.
func Streams() (from, to string) { return StreamsOf(coordination.ToolCallStreams) }

// StreamsOf are the limits of the names of streams with a prefix that ends in a slash.
func StreamsOf(prefix string) (from, to string) {
	return prefix, strings.TrimSuffix(prefix, "/") + "0" // after the slash
}

func scan(rows *sql.Rows) (c Call, err error) {
	var stream string
	var typ sql.NullString
	var called, ended []byte
	c.State = StateOpen
	if err := rows.Scan(&c.Place, &stream, &c.Seq, &c.AgentID, &called, &typ, &ended); err != nil {
		return c, err
	}
	c.CallID = strings.TrimPrefix(stream, coordination.ToolCallStreams)
	if len(called) > 0 { // otherwise it is redacted, as below
		if err := json.Unmarshal(called, &c); err != nil {
			return c, err
		}
	}
	if !typ.Valid {
		return c, nil
	}
	var end struct {
		TookMs                    int64
		IsError                   bool
		Code, Text, Reason, Error string
	}
	if len(ended) > 0 {
		if err := json.Unmarshal(ended, &end); err != nil {
			return c, err
		}
	}
	c.Took, c.Code, c.Reason, c.Text = end.TookMs, end.Code, end.Reason, cmp.Or(end.Error, end.Text)
	switch {
	case typ.String == coordination.TypeToolOutcomeUnknown:
		c.State = StateUnknown
	case end.IsError:
		c.State = StateError
	default:
		c.State = StateOK
	}
	return c, nil
}
