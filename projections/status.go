package projections

import (
	"context"
	"database/sql"
)

// Status is the state of a projection.
type Status struct {
	Name        string `json:"name"`
	Kind        Kind   `json:"kind"`
	Version     string `json:"version"`
	State       State  `json:"state"`
	Seq         int64  `json:"seq"`
	Lag         int64  `json:"lag"` // events behind the head of the log
	ParkedSeq   int64  `json:"parkedSeq,omitempty"`
	ParkedError string `json:"parkedError,omitempty"`
	ParkedAt    int64  `json:"parkedAt,omitempty"` // ms since 1970
}

// List reads the state of all projections of a file, by name.
func List(ctx context.Context, tx *sql.Tx) ([]Status, error) {
	return ListRows(ctx, tx, "read state of projections", `SELECT name, kind, version, state, seq, (SELECT coalesce(max(seq), 0) FROM events) - seq,
 coalesce(parked_seq, 0), coalesce(parked_error, ''), coalesce(parked_at, 0) FROM projections ORDER BY name`, nil, func(rows *sql.Rows, s *Status) error {
		return rows.Scan(&s.Name, &s.Kind, &s.Version, &s.State, &s.Seq, &s.Lag, &s.ParkedSeq, &s.ParkedError, &s.ParkedAt)
	})
}

// AsOf is the seq up to which all read models are current: that of the one furthest behind.
func AsOf(ctx context.Context, tx *sql.Tx) (int64, error) {
	var seq int64
	err := tx.QueryRowContext(ctx, "SELECT coalesce(min(seq), 0) FROM projections WHERE kind = 'read-model'").Scan(&seq)
	return seq, err
}
