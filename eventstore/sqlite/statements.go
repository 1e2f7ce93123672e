package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// keepingConnector makes connections for reading that keep their prepared statements.
type keepingConnector struct{ driver.Connector }

func (c keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	read, is := conn.(readConn)
	if !is {
		return nil, errors.Join(fmt.Errorf("the driver's connection is %T", conn), conn.Close())
	}
	return &keepingConn{readConn: read, kept: map[string]*keptStatement{}}, nil
}

// readConn is the part of the driver's connection that database/sql uses for reading.
type readConn interface {
	driver.Conn
	driver.Pinger
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
}

// Bounds of what one connection keeps. A statement takes 5 to 20 KB. Texts that are longer than those of this program
// are lists of a caller's values, which do not come again.
const (
	maxKept     = 128
	longestKept = 4 << 10
)

// keepingConn is a connection that prepares each text once: preparing a query takes longer than running a small one.
// SQLite prepares a statement again by itself when the schema has changed. database/sql uses a connection from one
// goroutine at a time.
type keepingConn struct {
	readConn
	kept map[string]*keptStatement
}

// keptStatement is a prepared statement that is lent to one user at a time.
type keptStatement struct {
	driver.Stmt
	isLent bool
}

// borrow lends the statement of a text; nil if it is lent already, or not kept.
func (c *keepingConn) borrow(ctx context.Context, query string) (*keptStatement, error) {
	if s := c.kept[query]; s != nil {
		if s.isLent {
			return nil, nil
		}
		s.isLent = true
		return s, nil
	}
	if len(query) > longestKept || strings.HasPrefix(query, "PRAGMA") { // many of these act while they are prepared
		return nil, nil
	}
	if len(c.kept) >= maxKept {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	prepared, err := c.readConn.PrepareContext(ctx, steady(query))
	if err != nil {
		return nil, err
	}
	s := &keptStatement{prepared, true}
	c.kept[query] = s
	return s, nil
}

// steady returns a statement with a computed LIMIT in place of a bound one, for which SQLite prepares it again, with the
// number, each time that it is used.
func steady(query string) string { return strings.ReplaceAll(query, "LIMIT ?", "LIMIT 0+?") }

// giveBack takes a statement back. One that has failed is prepared again.
func (c *keepingConn) giveBack(query string, s *keptStatement, failed error) error {
	if s.isLent = false; failed == nil && c.kept[query] == s {
		return nil
	}
	if c.kept[query] == s {
		delete(c.kept, query)
	}
	return s.Stmt.Close()
}

// forget closes the statements that are not lent; the others are closed when they come back.
func (c *keepingConn) forget() (err error) {
	for _, s := range c.kept {
		if !s.isLent {
			err = errors.Join(err, s.Stmt.Close())
		}
	}
	clear(c.kept)
	return err
}

func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.borrow(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.readConn.QueryContext(ctx, query, args)
	}
	rows, err := s.query(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.giveBack(query, s, err))
	}
	return &lentRows{Rows: rows, end: func(failed error) error { return c.giveBack(query, s, failed) }}, nil
}

func (s *keptStatement) query(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// lentRows is the result of a kept statement.
type lentRows struct {
	driver.Rows
	end func(failed error) error
}

func (r *lentRows) Close() error {
	err := r.Rows.Close()
	if r.end != nil {
		err = errors.Join(err, r.end(err))
		r.end = nil
	}
	return err
}

func (c *keepingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.borrow(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.readConn.PrepareContext(ctx, query)
	}
	return &lentStatement{keptStatement: s, conn: c, text: query}, nil
}

// lentStatement is a kept statement for a caller who closes it.
type lentStatement struct {
	*keptStatement
	conn   *keepingConn
	text   string
	failed error
}

func (s *lentStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.query(ctx, args)
	if err != nil {
		s.failed = err
		return nil, err
	}
	return &lentRows{Rows: rows, end: func(failed error) error {
		s.failed = errors.Join(s.failed, failed)
		return nil
	}}, nil
}

func (s *lentStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	s.failed = errors.Join(s.failed, err)
	return result, err
}

func (s *lentStatement) Close() error { return s.conn.giveBack(s.text, s.keptStatement, s.failed) }

// BeginTx begins a snapshot: none of these connections can write.
func (c *keepingConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return reader{c}, c.run("BEGIN")
}

// reader is the transaction of a keepingConn.
type reader struct{ conn *keepingConn }

func (r reader) Commit() error   { return r.conn.run("COMMIT") }
func (r reader) Rollback() error { return r.conn.run("ROLLBACK") }

// run runs a statement that begins or ends a transaction, neither of which waits.
func (c *keepingConn) run(text string) error {
	s, err := c.borrow(context.Background(), text)
	if err != nil {
		return err
	}
	if s == nil {
		_, err = c.readConn.ExecContext(context.Background(), text, nil)
		return err
	}
	_, err = s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return errors.Join(err, c.giveBack(text, s, err))
}

func (c *keepingConn) Close() error { return errors.Join(c.forget(), c.readConn.Close()) }
