package scripted

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// Script maps requests to answers. It does not change and may be shared.
type Script struct{ rules []rule }

type rule struct {
	when   when
	answer answer
}

type when struct {
	contains            []string // in lower case
	matches, result     *regexp.Regexp
	agent, model        string
	offers, after, tool string
	turn, step, attempt int // 0 is any
}

type answer struct {
	text        string
	chunk       int
	wait, delay time.Duration
	toolCalls   []toolCall
	stop        llm.StopReason
	fault       *fault
}

type toolCall struct {
	name      string
	arguments string // a JSON object, or anything if raw
	raw       bool
}

type fault struct {
	class      llm.Class
	hang       bool
	retryAfter time.Duration
	status     int
	message    string
	after      int // chunks
}

//go:embed default.json
var defaultScript []byte

// Default is the built-in script. It answers in the language of the message, Korean or English.
func Default() *Script {
	s, err := Read("default.json", defaultScript)
	if err != nil {
		panic(err)
	}
	return s
}

// Mistake is an error in a script.
type Mistake struct {
	Line, Column int    // from 1, in characters
	Path         string // such as rules[2].when.matches; "" for the whole script
	Message      string
	Hint         string
}

// Error lists the mistakes of a script, which cannot be used.
type Error struct {
	File     string
	Mistakes []Mistake // in the order of the file; at most maxMistakes
}

const maxMistakes = 20

func (e *Error) Error() string {
	var b strings.Builder
	for i, m := range e.Mistakes {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, m.Line, m.Column)
		if m.Path != "" {
			b.WriteString(m.Path + ": ")
		}
		fmt.Fprintf(&b, "%s (%s)", m.Message, m.Hint)
	}
	return b.String()
}
func (e *Error) Code() string { return "script" }
func (e *Error) Hint() string {
	return "fix the script; `go doc github.com/pronto-lab/openclawd/agent/llm/scripted` describes the format"
}
