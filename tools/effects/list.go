package effects

import (
	"context"
	"database/sql"
	"encoding/json"
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

// Recorded is a call as the log has it. Times are ms since 1970.
type Recorded struct {
	CallID     string `json:"callId"`
	Attempt    int    `json:"attempt"`
	State      string `json:"state"`
	Tool       string `json:"tool"`
	Server     string `json:"server,omitempty"`
	Repeat     string `json:"repeat,omitempty"`
	SessionKey string `json:"sessionKey"`
	RunID      string `json:"runId,omitempty"`
	CalledAt   int64  `json:"calledAtMs"`
	Took       int64  `json:"tookMs,omitempty"`
	Reason     string `json:"reason,omitempty"` // of an unknown outcome
	Text       string `json:"text,omitempty"`   // the result, or what is known of the failure
}

// Query selects calls.
type Query struct {
	Server string // "" for all
	State  string // likewise
	Limit  int
}

// The plus keeps the order by age from a sort of all calls.
const selectCalls = `SELECT s.name, e.data, l.type, l.data FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = 1
 LEFT JOIN events l ON l.stream_id = s.id AND l.version = 2
 WHERE +s.name >= ?1 AND +s.name < ?2 AND (?3 = '' OR e.data ->> '$.server' = ?3)
 AND (?4 = '' OR ?4 = CASE WHEN l.type IS NULL THEN 'open' WHEN l.type = 'tool.outcome_unknown' THEN 'unknown' WHEN l.data ->> '$.isError' THEN 'error' ELSE 'ok' END)
 ORDER BY s.id DESC LIMIT ?5`

// List returns the newest calls first.
func List(ctx context.Context, tx *sql.Tx, q Query) ([]Recorded, error) {
	from, to := calls()
	list := []Recorded{}
	err := projections.EachRow(ctx, tx, "list tool calls", selectCalls, []any{from, to, q.Server, q.State, q.Limit}, func(rows *sql.Rows) error {
		var stream string
		var typ sql.NullString
		var called, ended []byte
		if err := rows.Scan(&stream, &called, &typ, &ended); err != nil {
			return err
		}
		r := Recorded{CallID: strings.TrimPrefix(stream, coordination.ToolCallStreams), State: StateOpen}
		for _, data := range [][]byte{called, ended} {
			if len(data) == 0 {
				continue // there is none, or it is redacted
			}
			if err := r.read(data); err != nil {
				return err
			}
		}
		switch {
		case typ.String == coordination.TypeToolOutcomeUnknown:
			r.State = StateUnknown
		case typ.Valid && r.State != StateError:
			r.State = StateOK
		}
		list = append(list, r)
		return nil
	})
	return list, err
}

// read takes what an event says.
func (r *Recorded) read(data []byte) error {
	var more struct {
		IsError bool
		Error   string
	}
	if err := json.Unmarshal(data, r); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &more); err != nil {
		return err
	}
	if more.IsError {
		r.State = StateError
	}
	if more.Error != "" {
		r.Text = more.Error
	}
	return nil
}
