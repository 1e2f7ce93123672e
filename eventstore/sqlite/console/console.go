// Package console answers questions in SQL about a database of ours, from people and programs that are not trusted to change it: whatever is
// asked, nothing is written, no other file is read, no secret is shown, and no question costs more than its limits.
//
// Five things guard it, each of which would do alone for most of what may be tried: the file is opened for reading only; SQLite asks an
// authorizer of ours about everything that a statement wants to do, and that knows a list of what is allowed; SQLite's own limits bound what
// a statement may be, and an account of ours the memory that SQLite takes for it; and whoever runs too long is interrupted. Each question has a connection of its own, so that none leaves anything
// behind for the next.
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

// Limits of one question. The zero value of a field means its default.
type Limits struct {
	Time  time.Duration // for all of it; default 5 s
	Bytes int64         // of all values of an answer; default 8 MiB
	Value int           // bytes of a value, and of a row that is read; default 2 MiB, at most MaxValue
	Heap  int64         // bytes that SQLite may hold at a time; default 64 MiB, at most MaxHeap
	Once  int           // questions at a time; default 2
}

// Defaults of Limits.
const (
	DefaultTime  = 5 * time.Second
	DefaultBytes = 8 << 20
	DefaultValue = 2 << 20
	DefaultHeap  = 64 << 20
	DefaultOnce  = 2
)

// MaxValue is enough for every row of the log: the largest payload of an event, and what stands beside it.
const MaxValue = 17 << 20

// MaxHeap is enough to look into values of MaxValue, and what a question may take of the memory of a process is still 128 MiB with it.
const MaxHeap = 96 << 20

// Console answers questions. Its methods may be called concurrently.
type Console struct {
	path   string
	limits Limits
	turns  chan *turn
}

// turn is what one question at a time is asked with.
type turn struct {
	driver *sqlite3.Driver // with functions that look whether ctx has ended
	ctx    context.Context // of the question
}

func newTurn(most int) (*turn, error) {
	t := &turn{driver: &sqlite3.Driver{}, ctx: context.Background()}
	return t, addFunctions(t.driver, most, func() error { return t.ctx.Err() })
}

// Open sees that there is a database of ours at path, of whatever schema; it may be in use. It opens no connection that lasts.
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

// Column of an answer.
type Column struct {
	Name string
	Type string // as it was declared, in capitals; "" for what is worked out
}

// Question is one statement in SQL.
type Question struct {
	SQL  string
	Rows int // at most; 0: as many as there are
}

// Answer takes in an answer while it is made. An error of one of its methods ends the question, and is what Query returns.
type Answer interface {
	// Head is called once, before any row.
	Head(columns []Column) error
	// Row is called for each row, with int64, float64, string, []byte or nil for each column. The slice is used again for the next row.
	Row(values []any) error
}

// Result says how a question was answered.
type Result struct {
	Rows      int
	Truncated bool // there are more rows
}

// Query answers a question. Errors: *RefusedError, *SyntaxError, *LimitError, *BusyError, *eventstore.CorruptError, the error of ctx, and those
// of answer. What answer has been given before an error is right as far as it goes.
func (c *Console) Query(ctx context.Context, q Question, answer Answer) (Result, error) {
	statement, begin, err := check(q.SQL)
	if err != nil {
		return Result{}, err
	}
	t, err := c.take()
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
	result, err := s.answer(statement, q.Rows, answer)
	if closing := s.close(); err == nil {
		err = closing
	}
	return result, err
}

// take takes a turn, which has to be given back.
func (c *Console) take() (*turn, error) {
	select {
	case t := <-c.turns:
		return t, nil
	default:
		return nil, &BusyError{c.limits.Once}
	}
}

// answer runs the question.
func (s *session) answer(statement string, most int, answer Answer) (result Result, err error) {
	p, err := s.handle.prepare(statement)
	if err != nil {
		return result, s.translate(err)
	}
	defer p.finalize()
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
		case most > 0 && result.Rows == most:
			result.Truncated = true
			return result, nil
		}
		row := p.size(len(columns)) // before it is copied: one value may stand in all columns
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
