package projections

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Reading lets decision tables be read, as a decision reads them, in a transaction that only reads: without a turn at writing. It sees what is
// committed; Exec fails.
func Reading(ctx context.Context, tx *sql.Tx) eventstore.Tx { return reading{ctx, tx} }

type reading struct {
	ctx context.Context
	tx  *sql.Tx
}

var errOnlyReads = errors.New("the transaction only reads")

func (reading) Exec(string, ...any) (int64, error) { return 0, errOnlyReads }

func (r reading) Query(query string, args []any, scan func(eventstore.Row) error) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	read, into := make(cells, len(names)), make([]any, len(names))
	for i := range read {
		into[i] = &read[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := scan(read); err != nil {
			return err
		}
	}
	return rows.Err()
}

// cells are the columns of a row that database/sql has read.
type cells []any

func (c cells) Int(i int) int64 {
	switch v := c[i].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

func (c cells) Float(i int) float64 {
	switch v := c[i].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

func (c cells) Text(i int) string {
	switch v := c[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (c cells) Blob(i int) []byte {
	switch v := c[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func (c cells) Null(i int) bool { return c[i] == nil }
