package console

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// RefusedError reports a statement that asks for something that is not allowed.
type RefusedError struct {
	What     string // what it asks for: "DELETE", "the function load_extension"
	HintText string
}

func (e *RefusedError) Error() string { return "refused: " + e.What }
func (e *RefusedError) Code() string  { return "sql_refused" }
func (e *RefusedError) Hint() string  { return e.HintText }

// SyntaxError reports a statement that SQLite cannot parse or evaluate.
type SyntaxError struct {
	Message string // SQLite's message
	Line    int    // from 1; 0: unknown
	Column  int    // in characters, from 1; 0: unknown
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

// syntaxError locates an error: offset is in bytes, negative for unknown.
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

// LimitError reports a query that exceeds its limits.
type LimitError struct {
	Late     bool   // too slow; otherwise too large
	What     string // what exceeded which limit
	HintText string
}

func (e *LimitError) Error() string { return e.What }
func (e *LimitError) Code() string {
	if e.Late {
		return "sql_timeout"
	}
	return "sql_too_large"
}
func (e *LimitError) Hint() string { return e.HintText }

// errLate is the cause when a query's context ends because of its time limit.
var errLate = errors.New("time limit exceeded")

func tooLate(limit time.Duration) *LimitError {
	return &LimitError{Late: true, What: fmt.Sprintf("stopped after %s", limit),
		HintText: "ask for less: a WHERE over seq or a time, fewer joins, a LIMIT; EXPLAIN QUERY PLAN shows what is read"}
}

func tooMuch(limit int64) *LimitError {
	return &LimitError{What: fmt.Sprintf("the answer has more than %d bytes", limit), HintText: "name the columns that you need, or add a LIMIT"}
}

// BusyError reports that the maximum number of queries is already running.
type BusyError struct{ Once int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d queries are already running", e.Once)
}
func (e *BusyError) Code() string { return "sql_busy" }
func (e *BusyError) Hint() string { return "try again when one of them has finished" }

// ended returns why the session's context ended.
func (s *session) ended() error {
	if errors.Is(context.Cause(s.ctx), errLate) {
		return tooLate(s.limits.Time)
	}
	return s.ctx.Err()
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}
