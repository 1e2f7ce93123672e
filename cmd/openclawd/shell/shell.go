// Package shell is an interactive SQL shell: it reads queries line by line and prints answers as tables, JSON or CSV.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/output"
)

// Asker answers queries; console.Console implements it.
type Asker interface {
	Query(ctx context.Context, q console.Question, answer console.Answer) (console.Result, error)
	Schema(ctx context.Context) ([]console.Table, error)
}

// Lines is the source of input lines.
type Lines interface {
	// Line reads a line, without its end. Errors: io.EOF at the end of the input, ErrAborted if the user cancelled the
	// line.
	Line(prompt string) (string, error)
	// Remember adds a line to the history.
	Remember(line string)
}

// ErrAborted reports that the user cancelled the input so far.
var ErrAborted = errors.New("taken back")

// DefaultTableRows is the default row limit of a table: all rows are held in memory until the last is known.
const DefaultTableRows = 1_000

// Options of New. All but Rows and Interrupts are required.
type Options struct {
	Asker Asker
	Lines Lines
	Out   io.Writer
	Mode  Mode
	Rows  int // row limit per answer; 0: the mode's default
	Now   func() time.Time
	// Interrupts receives a signal when the running query is to be cancelled; nil: never.
	Interrupts <-chan os.Signal
}

// Shell is an interactive session. It is not safe for concurrent use.
type Shell struct {
	opts  Options
	timer bool
	typed strings.Builder // of an unfinished statement
}

// New returns a new shell.
func New(opts Options) *Shell { return &Shell{opts: opts} }

const (
	promptFirst = "openclawd> "
	promptMore  = "      ...> "
)

// Run answers queries until the lines end, .quit is entered or ctx ends. Errors in queries are printed; Run returns only errors of Out and
// of Lines.
func (s *Shell) Run(ctx context.Context) error {
	if err := s.printf("SQL, each query ended with a semicolon; read-only. .help lists commands, .quit exits\n"); err != nil {
		return err
	}
	for ctx.Err() == nil {
		prompt := promptFirst
		if s.typed.Len() > 0 {
			prompt = promptMore
		}
		line, err := s.opts.Lines.Line(prompt)
		switch {
		case errors.Is(err, io.EOF):
			return s.runLast(ctx)
		case errors.Is(err, ErrAborted):
			s.typed.Reset()
			continue
		case err != nil:
			return err
		}
		if strings.TrimSpace(line) != "" {
			s.opts.Lines.Remember(line)
		}
		over, err := s.processLine(ctx, line)
		if over || err != nil {
			return err
		}
	}
	return nil
}

// runLast runs a final query without a semicolon.
func (s *Shell) runLast(ctx context.Context) error {
	if strings.TrimSpace(s.typed.String()) == "" {
		return nil
	}
	return s.ask(ctx, s.typed.String())
}

// processLine processes a line. over marks the last one.
func (s *Shell) processLine(ctx context.Context, line string) (over bool, err error) {
	if s.typed.Len() == 0 && strings.HasPrefix(strings.TrimSpace(line), ".") {
		return s.command(ctx, strings.Fields(line))
	}
	if s.typed.Len() == 0 && strings.TrimSpace(line) == "" {
		return false, nil
	}
	s.typed.WriteString(line + "\n")
	if s.typed.Len() > console.MaxStatement {
		s.typed.Reset()
		return false, s.printf("error: a statement may have at most %d bytes\n", console.MaxStatement)
	}
	if !console.Complete(s.typed.String()) {
		return false, nil
	}
	text := s.typed.String()
	s.typed.Reset()
	for statement := ""; strings.TrimSpace(text) != ""; {
		if statement, text = console.Cut(text); strings.TrimSpace(statement) == "" {
			continue
		}
		if err := s.ask(ctx, statement); err != nil {
			return false, err
		}
	}
	return false, nil
}

// ask runs one query.
func (s *Shell) ask(ctx context.Context, statement string) error {
	ctx, stop := s.interruptible(ctx)
	defer stop()
	start := s.opts.Now()
	writer := NewWriter(s.opts.Mode, s.opts.Out)
	rows := s.opts.Rows
	if rows == 0 && s.opts.Mode == Table {
		rows = DefaultTableRows
	}
	result, err := s.opts.Asker.Query(ctx, console.Question{SQL: statement, Rows: rows}, writer)
	if err == nil {
		err = writer.End(result)
	}
	if err != nil {
		if err := s.printError(err); err != nil {
			return err
		}
	} else if result.Truncated && s.opts.Mode != Table {
		if err := s.printf("only the first %s are shown\n", output.Count(int64(result.Rows), "row")); err != nil {
			return err
		}
	}
	if s.timer {
		return s.printf("%s\n", s.opts.Now().Sub(start).Round(time.Millisecond))
	}
	return nil
}

// interruptible returns a context that an interrupt cancels too.
func (s *Shell) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	for len(s.opts.Interrupts) > 0 {
		<-s.opts.Interrupts // sent while no query was running
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.opts.Interrupts:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		stop()
		<-ended
	}
}

// printError prints an error of a query.
func (s *Shell) printError(err error) error {
	if errors.Is(err, context.Canceled) {
		return s.printf("interrupted\n")
	}
	if err := s.printf("error: %s\n", output.Printable(err.Error())); err != nil {
		return err
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Hint() != "" {
		return s.printf("hint: %s\n", coded.Hint())
	}
	return nil
}

func (s *Shell) printf(format string, values ...any) error {
	_, err := fmt.Fprintf(s.opts.Out, format, values...)
	return err
}
