package console

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// RefusedError says that a statement wants something that is not allowed here.
type RefusedError struct {
	What string // it wants: "DELETE", "the function load_extension"
	Mend string
}

func (e *RefusedError) Error() string { return "refused: " + e.What }
func (e *RefusedError) Code() string  { return "sql_refused" }
func (e *RefusedError) Hint() string  { return e.Mend }

// SyntaxError says that SQLite cannot make sense of a statement, or cannot work out what it asks for.
type SyntaxError struct {
	Message string // SQLite's words
	Line    int    // where in the statement, from 1; 0: SQLite does not say
	Column  int    // in characters, from 1; 0 likewise
}

func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	return e.Message
}
func (e *SyntaxError) Code() string { return "sql_error" }
func (e *SyntaxError) Hint() string {
	return "the tables and views are in docs/schema.md, in GET /api/sql/schema, and in openclawd sql under .schema"
}

// syntaxError finds the place of an error: offset is in bytes, negative for none.
func syntaxError(message, statement string, offset int) *SyntaxError {
	e := &SyntaxError{Message: message}
	if offset < 0 || offset > len(statement) {
		return e
	}
	e.Line, e.Column = 1, 1
	for _, r := range statement[:offset] {
		if e.Column++; r == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return e
}

// LimitError says that a question would cost more than it may.
type LimitError struct {
	Late bool   // it took too long; else it is too large
	What string // that was too long or too large, with the limit
	Mend string
}

func (e *LimitError) Error() string { return e.What }
func (e *LimitError) Code() string {
	if e.Late {
		return "sql_timeout"
	}
	return "sql_too_large"
}
func (e *LimitError) Hint() string { return e.Mend }

// errLate is why the context of a question ends that takes too long.
var errLate = errors.New("the time is up")

func tooLate(limit time.Duration) *LimitError {
	return &LimitError{Late: true, What: fmt.Sprintf("stopped after %s", limit),
		Mend: "ask for less: a WHERE over seq or a time, fewer joins, a LIMIT; EXPLAIN QUERY PLAN shows what is read"}
}

func tooMuch(limit int64) *LimitError {
	return &LimitError{What: fmt.Sprintf("the answer has more than %d bytes", limit), Mend: "name the columns that you want, or add a LIMIT"}
}

// BusyError says that as many questions are being answered as may be at a time.
type BusyError struct{ Once int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d questions are being answered already", e.Once)
}
func (e *BusyError) Code() string { return "sql_busy" }
func (e *BusyError) Hint() string { return "try again when one of them is done" }

// ended is why the session's context has.
func (s *session) ended() error {
	if errors.Is(context.Cause(s.ctx), errLate) {
		return tooLate(s.limits.Time)
	}
	return s.ctx.Err()
}

// clip is a text as it may stand in a message.
func clip(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}
