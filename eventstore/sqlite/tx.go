package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/pronto-lab/openclawd/eventstore"
)

// tx is an eventstore.Tx on the driver's own connection: the writer avoids what database/sql does per call (locks,
// context watching, reflection), about a third of the cost of a small statement.
type tx struct {
	conn  driverConn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
}

// driverConn is the part of the driver's connection that the writer uses.
type driverConn interface {
	driver.ConnPrepareContext
}

// maxStatements bounds the cached prepared statements. The writer has a few dozen; maintenance may add more.
const maxStatements = 400

func newTx(conn driverConn) *tx { return &tx{conn: conn, stmts: map[string]driver.Stmt{}} }

func (t *tx) Exec(query string, args ...any) (int64, error) {
	s, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	if err := t.bind(args); err != nil {
		return 0, err
	}
	result, err := s.(driver.StmtExecContext).ExecContext(context.Background(), t.args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t *tx) Query(query string, args []any, scan func(eventstore.Row) error) (err error) {
	s, err := t.prepare(query)
	if err != nil {
		return err
	}
	if err := t.bind(args); err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), t.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make(eventstore.Values[driver.Value], len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := scan(values); err != nil {
			return err
		}
	}
}

func (t *tx) prepare(query string) (driver.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	if len(t.stmts) >= maxStatements {
		if err := t.forget(); err != nil {
			return nil, err
		}
	}
	s, err := t.conn.PrepareContext(context.Background(), steady(query))
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", query, err)
	}
	t.stmts[query] = s
	return s, nil
}

// pragma runs a PRAGMA, which may act while it is prepared: such a statement cannot be kept.
func (t *tx) pragma(query string) error {
	s, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, s.Close())
}

// forget closes all prepared statements.
func (t *tx) forget() error {
	var errs []error
	for _, s := range t.stmts {
		errs = append(errs, s.Close())
	}
	clear(t.stmts)
	return errors.Join(errs...)
}

func (t *tx) bind(args []any) error {
	t.args = t.args[:0]
	for i, a := range args {
		var v driver.Value
		switch a := a.(type) {
		case int64, float64, string, nil:
			v = a
		case []byte:
			if a != nil {
				v = a
			}
		case int:
			v = int64(a)
		case bool:
			v = int64(0)
			if a {
				v = int64(1)
			}
		default:
			return fmt.Errorf("argument %d has type %T, which SQLite cannot store", i+1, a)
		}
		t.args = append(t.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return nil
}
