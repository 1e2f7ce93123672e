package traceview

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// maxArrows limits a diagram: renderers reject more than a few hundred.
const maxArrows = 400

// arrow is one line of a sequence diagram.
type arrow struct {
	at, seq int64
	from    string
	to      string // "": a note over from
	line    string // arrow style
	text    string
}

// Mermaid writes a trace as a sequence diagram: the messages between agents in chronological order. Message texts are escaped so that none
// of them is read as diagram syntax.
func Mermaid(w io.Writer, t *trace.Trace) error {
	arrows := arrowsOf(t.Roots)
	slices.SortStableFunc(arrows, func(a, b arrow) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	cut := t.Cut || len(arrows) > maxArrows
	arrows = arrows[:min(len(arrows), maxArrows)]

	var who []string
	alias := func(agent string) string {
		i := slices.Index(who, agent)
		if i < 0 {
			i, who = len(who), append(who, agent)
		}
		return fmt.Sprintf("p%d", i)
	}
	var body strings.Builder
	for _, a := range arrows {
		switch {
		case a.to == "":
			fmt.Fprintf(&body, "  Note over %s: %s\n", alias(a.from), inMermaid(a.text))
		default:
			fmt.Fprintf(&body, "  %s%s%s: %s\n", alias(a.from), a.line, alias(a.to), inMermaid(a.text))
		}
	}
	if cut && len(who) > 0 {
		body.WriteString("  Note over p0: there is more\n")
	}
	var head strings.Builder
	head.WriteString("sequenceDiagram\n")
	for i, agent := range who {
		fmt.Fprintf(&head, "  participant p%d as %s\n", i, inMermaid(agent))
	}
	_, err := io.WriteString(w, head.String()+body.String())
	return err
}

// Arrow styles.
const (
	lineSays    = "->>"
	lineAnswers = "-->>"
	lineFails   = "--x"
)

// arrowsOf returns the lines of a diagram, unordered.
func arrowsOf(roots []*trace.Node) (arrows []arrow) {
	for level := roots; len(level) > 0; {
		var next []*trace.Node
		for _, n := range level {
			next = append(next, n.Children...)
			agent := cmp.Or(n.Agent, coordination.UnknownAgent)
			if n.Kind == trace.Run && n.Role == "" {
				text := strings.Join(without("", askedBy(n), n.Question), ": ")
				arrows = append(arrows, arrow{at: n.At, seq: n.Seq, from: agent, text: cmp.Or(text, "run "+n.ID)})
			}
			if n.Late {
				arrows = append(arrows, arrow{at: n.EndedAt, seq: n.Seq, from: agent, text: "an answer, " + output.Duration(n.LateMs) + " too late"})
			}
			for i := range n.Messages {
				if a, ok := arrowOf(n, &n.Messages[i]); ok {
					arrows = append(arrows, a)
				}
			}
		}
		level = next
	}
	return arrows
}

// arrowOf converts a message. The send of a delegation repeats the text of its spawn, and is left out.
func arrowOf(n *trace.Node, m *trace.TracedMessage) (a arrow, ok bool) {
	a = arrow{at: m.At, seq: m.Seq, from: cmp.Or(m.From, coordination.UnknownAgent), to: cmp.Or(m.To, coordination.UnknownAgent), line: lineSays}
	say := func(before string) {
		a.text = strings.Join(without("", before, cmp.Or(m.Preview, m.Reason)), ": ")
	}
	name := strings.TrimPrefix(m.Type, "a2a.")
	switch m.Type {
	case coordination.TypeA2ASend:
		if n.Of == "spawn" && len(n.Messages) > 0 && n.Messages[0].Type == coordination.TypeA2ASpawn {
			return a, false
		}
		say("")
	case coordination.TypeA2AResponse:
		a.line = lineAnswers
		turn := ""
		if m.Turn > 0 {
			turn = fmt.Sprintf("turn %d", m.Turn)
		}
		if m.Outcome != "" {
			a.line, turn = lineFails, m.Outcome
		}
		say(turn)
	case coordination.TypeA2AForbidden, coordination.TypeA2ADispatchFailed, coordination.TypeA2ASendPolicyRejected:
		a.line = lineFails
		say(name)
	case coordination.TypeA2ASpawn:
		say(name)
	default:
		if a.to = ""; m.Type == coordination.TypeA2ARetry {
			a.from = cmp.Or(m.To, a.from) // retried at
		}
		say(strings.Join(without("", name, m.Outcome), " "))
	}
	a.text = cmp.Or(a.text, name)
	return a, true
}

// mermaidWords are words that end a block, or begin a style, even in the middle of a text.
var mermaidWords = regexp.MustCompile(`(?i)\b(end|style|classdef)\b`)

// inMermaid escapes a text for a diagram: letters and digits of any script, blanks and a few signs are kept, everything else is replaced by
// its character number.
func inMermaid(text string) string {
	const (
		fine   = " .,!?()/'_"
		joiner = '\u200D' // of emoji
	)
	text = mermaidWords.ReplaceAllStringFunc(text, func(word string) string { return word[:1] + "\x00" + word[1:] })
	var b strings.Builder
	escape := func(r rune) { fmt.Fprintf(&b, "#%d;", r) }
	broken := false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == 0:
			broken = true
			continue
		case broken: // the first letter of a keyword
			escape(r)
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(fine, r)):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != joiner, unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), r == unicode.MaxASCII:
			b.WriteRune('\uFFFD')
		case r < unicode.MaxASCII:
			escape(r)
		default:
			b.WriteRune(r)
		}
		broken = false
	}
	return b.String()
}
