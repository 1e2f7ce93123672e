// Package shell asks SQL for people: it writes answers as tables, JSON or CSV, and reads questions from a terminal, line by line.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// Asker answers questions, as console.Console does.
type Asker interface {
	Query(ctx context.Context, q console.Question, answer console.Answer) (console.Result, error)
	Schema(ctx context.Context) ([]console.Table, error)
}

// Lines are what somebody types.
type Lines interface {
	// Line reads one, without its end. Errors: io.EOF at the end of them all, ErrAborted for one that was taken back.
	Line(prompt string) (string, error)
	// Remember has a line come up again when somebody looks for it.
	Remember(line string)
}

// ErrAborted says that what was typed so far is not meant.
var ErrAborted = errors.New("taken back")

// DefaultTableRows is how many rows of an answer are shown as a table unless somebody says otherwise: all of them are kept until the last is known.
const DefaultTableRows = 1_000

// Options of New. All but Rows and Interrupts are required.
type Options struct {
	Asker Asker
	Lines Lines
	Out   io.Writer
	Mode  Mode
	Rows  int // of an answer at most; 0: as the mode has it
	Now   func() time.Time
	// Interrupts has one whenever the question that is being answered is to end; nil: never.
	Interrupts <-chan os.Signal
}

// Shell is a conversation. It is used by one goroutine.
type Shell struct {
	opts  Options
	timer bool
	typed strings.Builder // of a statement that is not ended yet
}

// New returns a shell that has said nothing yet.
func New(opts Options) *Shell { return &Shell{opts: opts} }

const (
	promptFirst = "openclawd> "
	promptMore  = "      ...> "
)

// Run answers until the lines end, .quit is typed or ctx ends. What is wrong with a question is told and does not end it; errors are those of Out
// and of Lines.
func (s *Shell) Run(ctx context.Context) error {
	if err := s.say("questions in SQL, each ended with a semicolon; nothing can be changed. .help tells more, .quit ends\n"); err != nil {
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
			return s.last(ctx)
		case errors.Is(err, ErrAborted):
			s.typed.Reset()
			continue
		case err != nil:
			return err
		}
		if strings.TrimSpace(line) != "" {
			s.opts.Lines.Remember(line)
		}
		over, err := s.take(ctx, line)
		if over || err != nil {
			return err
		}
	}
	return nil
}

// last asks what was typed without a semicolon at the end.
func (s *Shell) last(ctx context.Context) error {
	if strings.TrimSpace(s.typed.String()) == "" {
		return nil
	}
	return s.ask(ctx, s.typed.String())
}

// take takes in a line. over says that it was the last one.
func (s *Shell) take(ctx context.Context, line string) (over bool, err error) {
	if s.typed.Len() == 0 && strings.HasPrefix(strings.TrimSpace(line), ".") {
		return s.command(ctx, strings.Fields(line))
	}
	if s.typed.Len() == 0 && strings.TrimSpace(line) == "" {
		return false, nil
	}
	s.typed.WriteString(line + "\n")
	if s.typed.Len() > console.MaxStatement {
		s.typed.Reset()
		return false, s.say("error: a statement may have %d bytes\n", console.MaxStatement)
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

// ask answers one question.
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
		if err := s.tell(err); err != nil {
			return err
		}
	} else if result.Truncated && s.opts.Mode != Table {
		if err := s.say("only the first %s are shown\n", output.Count(int64(result.Rows), "row")); err != nil {
			return err
		}
	}
	if s.timer {
		return s.say("%s\n", s.opts.Now().Sub(start).Round(time.Millisecond))
	}
	return nil
}

// interruptible gives a question a context that an interrupt ends too.
func (s *Shell) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	for len(s.opts.Interrupts) > 0 {
		<-s.opts.Interrupts // it came when nothing was asked
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

// tell shows what is wrong with a question.
func (s *Shell) tell(err error) error {
	if errors.Is(err, context.Canceled) {
		return s.say("interrupted\n")
	}
	if err := s.say("error: %s\n", output.Printable(err.Error())); err != nil {
		return err
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Hint() != "" {
		return s.say("hint: %s\n", coded.Hint())
	}
	return nil
}

func (s *Shell) say(format string, values ...any) error {
	_, err := fmt.Fprintf(s.opts.Out, format, values...)
	return err
}
