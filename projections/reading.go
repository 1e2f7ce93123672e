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

// EachRow passes the rows of a query to scan. doing says in an error what the query is for.
func EachRow(ctx context.Context, tx *sql.Tx, doing, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// ListRows is EachRow for a list with an element per row, which scan fills.
func ListRows[T any](ctx context.Context, tx *sql.Tx, doing, query string, args []any, scan func(*sql.Rows, *T) error) (list []T, err error) {
	err = EachRow(ctx, tx, doing, query, args, func(rows *sql.Rows) error {
		var one T
		err := scan(rows, &one)
		list = append(list, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
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
	read, into := make(eventstore.Values[any], len(names)), make([]any, len(names))
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
