// Package console runs SQL queries from untrusted people and programs on an openclawd database: nothing is written, no
// other file is read, no secret is shown, and no query costs more than its limits.
//
// Five mechanisms guard it: the file is opened read-only; an SQLite authorizer allows only listed actions; SQLite's
// limits bound a statement, and an allocator hook bounds SQLite's memory; and a query that takes too long is
// interrupted. Each query has its own connection, so it leaves nothing behind for the next.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	sqlite3 "modernc.org/sqlite"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Limits of one query. The zero value of a field means its default.
type Limits struct {
	Time  time.Duration // total time; default 5 s
	Bytes int64         // total size of an answer's values; default 8 MiB
	Value int           // bytes of a value, and of a row that is read; default 2 MiB, at most MaxValue
	Heap  int64         // bytes that SQLite may hold at a time; default 64 MiB, at most MaxHeap
	Once  int           // concurrent queries; default 2
}

// Defaults of Limits.
const (
	DefaultTime  = 5 * time.Second
	DefaultBytes = 8 << 20
	DefaultValue = 2 << 20
	DefaultHeap  = 64 << 20
	DefaultOnce  = 2
)

// MaxValue is enough for every row of the log: the largest payload of an event and its other columns.
const MaxValue = 17 << 20

// MaxHeap is enough for queries over values of MaxValue; a query then takes at most 128 MiB of the process's memory.
const MaxHeap = 96 << 20

// Console runs queries. Its methods may be called concurrently.
type Console struct {
	path   string
	past   *sqlite.Scratch // in place of the file at path; nil: that file
	limits Limits
	turns  chan *turn
}

// turn holds what one query at a time uses.
type turn struct {
	driver *sqlite3.Driver // with functions that check whether ctx has ended
	ctx    context.Context // context of the query
}

func newTurn(most int) (*turn, error) {
	t := &turn{driver: &sqlite3.Driver{}, ctx: context.Background()}
	return t, addFunctions(t.driver, most, func() error { return t.ctx.Err() })
}

// Open checks that path is an openclawd database, of any schema; it may be in use. It keeps no connection open.
// Errors: fs.ErrNotExist, *eventstore.CorruptError, *eventstore.SchemaError, *eventstore.InvalidError.
func Open(ctx context.Context, path string, limits Limits) (*Console, error) {
	file, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, OlderSchema: true})
	if err != nil {
		return nil, err
	}
	c := &Console{path: file.Path(), limits: limits.orDefaults()}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("close %s: %w", path, err)
	}
	c.turns = make(chan *turn, c.limits.Once)
	for range c.limits.Once {
		t, err := newTurn(c.limits.Value)
		if err != nil {
			return nil, err
		}
		c.turns <- t
	}
	return c, nil
}

func (l Limits) orDefaults() Limits {
	if l.Time <= 0 {
		l.Time = DefaultTime
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Value <= 0 {
		l.Value = DefaultValue
	}
	l.Value = min(l.Value, MaxValue)
	if l.Heap <= 0 {
		l.Heap = DefaultHeap
	}
	l.Heap = min(l.Heap, MaxHeap)
	if l.Once <= 0 {
		l.Once = DefaultOnce
	}
	return l
}

// Path is the absolute path of the file.
func (c *Console) Path() string { return c.path }

// Past returns a console on the tables as of an event. It has the limits of c, and its queries count among those of c.
// Schema describes the file of c. The state must stay open during each query.
func (c *Console) Past(state *sqlite.Scratch) *Console {
	return &Console{path: c.path, past: state, limits: c.limits, turns: c.turns}
}

// Column describes a column of an answer.
type Column struct {
	Name string
	Type string // declared type, upper case; "" for an expression
}

// Question is one SQL statement.
type Question struct {
	SQL    string
	Rows   int // maximum number of rows; 0: unlimited
	Params Params
}

// Answer receives an answer while it is produced. An error from one of its methods ends the query, and Query returns
// it.
type Answer interface {
	// Head is called once, before any row.
	Head(columns []Column) error
	// Row is called for each row, with int64, float64, string, []byte or nil for each column. The slice is reused for
	// the next row.
	Row(values []any) error
}

// Result summarises an answered query.
type Result struct {
	Rows      int
	Truncated bool // there are more rows
}

// Query runs a query. Errors: *RefusedError, *SyntaxError, *ParameterError, *LimitError, *BusyError, *eventstore.CorruptError, the
// error of ctx, and those of answer. Rows passed to answer before an error are correct.
func (c *Console) Query(ctx context.Context, q Question, answer Answer) (Result, error) {
	statement, begin, err := check(q.SQL)
	if err == nil && c.past != nil {
		err = checkPast(statement)
	}
	if err != nil {
		return Result{}, err
	}
	if err := q.Params.check(); err != nil {
		return Result{}, err
	}
	t, err := c.acquire()
	if err != nil {
		return Result{}, err
	}
	defer func() { c.turns <- t }()
	ctx, stop := context.WithTimeoutCause(ctx, c.limits.Time, errLate)
	defer stop()
	s, err := c.connect(ctx, t)
	if err != nil {
		return Result{}, err
	}
	s.text, s.begin = q.SQL, begin
	result, err := s.answer(statement, q, answer)
	if closing := s.close(); err == nil {
		err = closing
	}
	return result, err
}

// acquire acquires a turn, which must be given back.
func (c *Console) acquire() (*turn, error) {
	select {
	case t := <-c.turns:
		return t, nil
	default:
		return nil, &BusyError{c.limits.Once}
	}
}

// answer runs the query.
func (s *session) answer(statement string, q Question, answer Answer) (result Result, err error) {
	p, err := s.handle.prepare(statement)
	if err != nil {
		return result, s.translate(err)
	}
	defer p.finalize()
	if err := s.bind(p, q.Params); err != nil {
		return result, err
	}
	columns := p.columns()
	if err := answer.Head(columns); err != nil {
		return result, err
	}
	values := make([]any, len(columns))
	for bytes := int64(0); ; result.Rows++ {
		err := p.step()
		switch {
		case errors.Is(err, io.EOF):
			return result, nil
		case err != nil:
			return result, s.translate(err)
		case s.ctx.Err() != nil:
			return result, s.ended()
		case q.Rows > 0 && result.Rows == q.Rows:
			result.Truncated = true
			return result, nil
		}
		row := p.size(len(columns)) // before copying: one value may occur in all columns
		if bytes += row; bytes > s.limits.Bytes {
			return result, tooMuch(s.limits.Bytes)
		}
		if row > s.limits.Heap {
			return result, s.tooLarge(fmt.Sprintf("row %d has %d bytes", result.Rows+1, row))
		}
		if err := p.values(values); err != nil {
			return result, s.translate(err)
		}
		if err := answer.Row(values); err != nil {
			return result, err
		}
	}
}
