package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/internal/output"
)

// shownArgs is how many characters of a tool call's arguments are shown.
const shownArgs = 100

// screen prints an answer as it grows. Write errors are reported at the end.
type screen struct {
	out, notes io.Writer
	terminal   bool // out is a terminal: control characters must be removed
	noted      bool // notes is a terminal: tool calls are shown there
	dim        bool
	printed    string // of the current answer
	open       bool   // the line is unfinished
	err        error
}

func newScreen(p *process) *screen {
	return &screen{out: p.stdout, notes: p.stderr, terminal: output.IsTerminal(p.stdout), noted: output.IsTerminal(p.stderr), dim: p.getenv("NO_COLOR") == ""}
}

// text prints the new part of a text. A text that does not continue the printed one starts on a new line.
func (s *screen) text(all string) {
	rest, goesOn := strings.CutPrefix(all, s.printed)
	if !goesOn {
		s.newLine()
		rest = all
	}
	s.printed = all
	s.write(rest)
}

// tool shows a tool call.
func (s *screen) tool(call string) {
	if !s.noted {
		return
	}
	s.newLine()
	line := "→ " + clip(output.Printable(call), shownArgs)
	if s.dim {
		line = "\x1b[2m" + line + "\x1b[0m"
	}
	fmt.Fprintln(s.notes, line)
}

// end prints the rest of the whole text, and ends the line.
func (s *screen) end(whole string) error {
	if whole != "" && !strings.HasSuffix(s.printed, whole) {
		s.text(whole)
	}
	s.newLine()
	return s.err
}

func (s *screen) newLine() {
	if s.open {
		s.write("\n")
	}
}

func (s *screen) write(text string) {
	if text == "" || s.err != nil {
		return
	}
	s.open = !strings.HasSuffix(text, "\n")
	if s.terminal {
		text = steerless(text)
	}
	_, s.err = io.WriteString(s.out, text)
}

// steerless removes terminal control characters from a text of several lines.
func steerless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}
