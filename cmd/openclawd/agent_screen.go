package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// shownArgs is how many letters of a tool's call are shown.
const shownArgs = 100

// screen prints an answer as it grows. What cannot be written is told at the end.
type screen struct {
	out, notes io.Writer
	terminal   bool // out is one: nothing of a text may steer it
	noted      bool // notes is one: tools are shown there
	dim        bool
	printed    string // of the present answer
	open       bool   // the line is not ended
	err        error
}

func newScreen(p *process) *screen {
	return &screen{out: p.stdout, notes: p.stderr, terminal: output.IsTerminal(p.stdout), noted: output.IsTerminal(p.stderr), dim: p.getenv("NO_COLOR") == ""}
}

// text prints what is new in a text. One that does not go on from what is printed begins on a line of its own.
func (s *screen) text(all string) {
	rest, goesOn := strings.CutPrefix(all, s.printed)
	if !goesOn {
		s.newLine()
		rest = all
	}
	s.printed = all
	s.write(rest)
}

// tool shows that a tool is called.
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

// end prints what is still missing of the whole text, and ends the line.
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

// steerless takes out of a text of several lines what would steer a terminal instead of being shown.
func steerless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}
