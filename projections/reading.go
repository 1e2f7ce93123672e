package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Reading lets decision tables be read as in a decision, but in a read-only transaction that does not wait for the
// writer. It sees committed data; Exec fails.
func Reading(ctx context.Context, tx *sql.Tx) eventstore.Tx { return reading{ctx, tx} }

// ReadAll returns what scan makes of each row of a query. doing says in an error what the query is for.
func ReadAll[T any](tx eventstore.Tx, doing, query string, args []any, scan func(eventstore.Row) T) (list []T, err error) {
	err = tx.Query(query, args, func(r eventstore.Row) error {
		list = append(list, scan(r))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// ReadOne is ReadAll for a query of at most one row.
func ReadOne[T any](tx eventstore.Tx, doing, query string, args []any, scan func(eventstore.Row) T) (one T, found bool, err error) {
	list, err := ReadAll(tx, doing, query, args, scan)
	if err != nil || len(list) == 0 {
		return one, false, err
	}
	return list[0], true, nil
}

type reading struct {
	ctx context.Context
	tx  *sql.Tx
}

var errOnlyReads = errors.New("the transaction is read-only")

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

// cells are the columns of a row read by database/sql.
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
