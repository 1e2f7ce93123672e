// Package traceview writes a trace for people: as a tree of lines, or as a Mermaid diagram.
package traceview

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// treeText writes a trace as a tree of lines, wrapped to the terminal, if there is one.
type treeText struct {
	to    io.Writer
	trace *trace.Trace
	width int // width in cells; 0: unlimited
	err   error
}

// Text prints a trace: a header, then for each node its line, its messages, and its consequences.
func Text(w io.Writer, t *trace.Trace) error {
	text := treeText{to: w, trace: t, width: output.Width(w)}
	for _, parts := range text.head() {
		text.lines("", "", parts)
	}
	text.line("", "")
	for _, n := range t.Roots {
		text.node("", "", n, 0)
	}
	if len(t.Roots) == 0 {
		text.line("", "no messages between agents, no requests")
	}
	if t.Cut {
		text.line("", "")
		text.line("", "Truncated: trace one of its parts for more.")
	}
	return text.err
}

func (t *treeText) line(before, text string) {
	if t.err != nil {
		return
	}
	line := strings.TrimRight(output.Printable(before+text), " ")
	_, t.err = fmt.Fprintln(t.to, output.Cut(line, t.width))
}

// lines writes parts as one line, on a terminal as several if needed: before prefixes the first one, below the others.
func (t *treeText) lines(before, below string, parts []string) {
	line := before
	for i, part := range parts {
		part = output.Printable(part)
		switch {
		case i == 0:
			line += part
		case t.width > 0 && output.Cells(line)+len(gap)+output.Cells(part) > t.width:
			t.line("", line)
			line = below + gap + part
		default:
			line += gap + part
		}
	}
	t.line("", line)
}

const gap = "  " // separator of the parts of a line

// head shows what the trace is of, its size and its total duration.
func (t *treeText) head() (lines [][]string) {
	r := t.trace
	first := []string{words(string(r.Kind)) + " " + r.ID}
	if s := r.Session; s != nil {
		first = append(first, without("", string(s.Status), string(s.Outcome), s.Title)...)
	}
	took := "took "
	if r.Open > 0 {
		took = "for "
	}
	counts := []string{output.Time(r.StartedAt), took + output.Duration(r.DurationMs)}
	for _, c := range []struct {
		n     int
		thing string
	}{{r.Flows, "flow"}, {r.Runs, "run"}, {r.Conversations, "conversation"}, {r.Messages, "message"}} {
		if c.n > 0 {
			counts = append(counts, output.Count(int64(c.n), c.thing))
		}
	}
	if r.Open > 0 {
		counts = append(counts, strconv.Itoa(r.Open)+" open")
	}
	if r.Late > 0 {
		counts = append(counts, strconv.Itoa(r.Late)+" late")
	}
	return [][]string{first, {strings.Join(counts, ", ")}}
}

// deepest is the depth from which on a tree is not indented further, so that half of the terminal is left for text.
func (t *treeText) deepest() int {
	const most, cells = 24, 3 // of one level
	if t.width == 0 {
		return most
	}
	return min(most, t.width/(2*cells))
}

// node writes a node: own prefixes its first line, below the following ones.
func (t *treeText) node(own, below string, n *trace.Node, depth int) {
	inner := below
	if len(n.Children) > 0 {
		inner += "│  "
	} else {
		inner += "   "
	}
	t.lines(own, inner, t.about(n))
	for _, said := range []struct{ who, text string }{{"asked", n.Question}, {"said", n.Answer}} {
		if said.text != "" && (n.Kind != trace.Flow || len(n.Messages) == 0) {
			t.line(inner, said.who+` "`+said.text+`"`)
		}
	}
	for i := range n.Messages {
		t.line(inner, t.messageLine(n, &n.Messages[i]))
	}
	for i, c := range n.Children {
		branch, beside := "├─ ", "│  "
		if i == len(n.Children)-1 {
			branch, beside = "└─ ", "   "
		}
		if depth >= t.deepest() {
			t.node(below+"> ", below, c, depth+1)
		} else {
			t.node(below+branch, below+beside, c, depth+1)
		}
	}
}

// about lists the parts of a node's line: kind, participants, state, reason, durations, and id.
func (t *treeText) about(n *trace.Node) (parts []string) {
	add := func(list ...string) { parts = append(parts, without("", list...)...) }
	add(what(n))
	switch n.Kind {
	case trace.Run:
		add(n.Agent)
	default:
		add(strings.Join(without("", n.From, n.To), " → "))
	}
	add(stateText(n), n.Label, t.times(n))
	if n.Kind == trace.Run && n.Role == "" {
		add(n.SessionKey, askedBy(n))
	}
	add(n.Intent, n.Payload, spent(n))
	if r := n.Retry; r != nil {
		add("after " + strings.Join(without("", r.Category, r.Code, r.Reason), " "))
	}
	if n.Open && n.Since > 0 {
		add("open since " + clock(n.Since) + " (" + output.Duration(t.trace.Now-n.Since) + ")")
	}
	if n.Late {
		add("late: answered " + output.Duration(n.LateMs) + " after the flow had ended")
	}
	if n.Missing != "" {
		add("of " + words(n.Missing) + ", which is missing")
	}
	mark := ""
	if n.Asked && n.ID == t.trace.ID {
		mark = " <"
	}
	return append(parts, n.ID+mark)
}

// what is the label of a kind of node.
func what(n *trace.Node) string {
	switch {
	case n.Kind == trace.Flow:
		return cmp.Or(n.Of, "flow")
	case n.Role == trace.RoleTurn:
		return n.Role + " " + strconv.Itoa(n.Turn)
	case n.Role == trace.RoleRetry:
		return n.Role + " " + strconv.Itoa(n.Attempt-1)
	case n.Role != "":
		return n.Role
	}
	return words(string(n.Kind))
}

// stateText is the state or outcome of a node, and the reason.
func stateText(n *trace.Node) string {
	state := cmp.Or(n.Outcome, n.State)
	if n.Open {
		state = cmp.Or(n.State, n.Outcome)
		if n.Kind == trace.Conversation || n.Kind == trace.Thread {
			state = n.Outcome
		}
	}
	if why := strings.Join(without("", n.ErrorClass, n.Reason), ", "); why != "" {
		state += " (" + why + ")"
	}
	return state
}

// times formats waiting and working time.
func (t *treeText) times(n *trace.Node) string {
	if n.Kind != trace.Run {
		took := "took " + output.Duration(n.DurationMs)
		if n.Open {
			took = "for " + output.Duration(n.DurationMs)
		}
		if n.PermitMs > 0 {
			took += ", waited " + output.Duration(n.PermitMs) + " for a permit"
		}
		return took
	}
	parts := []string{}
	if n.BackoffMs > 0 {
		parts = append(parts, "put off "+output.Duration(n.BackoffMs))
	}
	parts = append(parts, "waited "+output.Duration(n.QueueMs))
	if n.StartedAt > 0 {
		parts = append(parts, "ran "+output.Duration(n.RunMs))
	}
	return strings.Join(parts, ", ")
}

// askedBy is the requester of a run that belongs to no flow.
func askedBy(n *trace.Node) string {
	switch {
	case n.By != "" && n.Cause != "":
		return "asked by " + n.By + " (" + n.Cause + ")"
	case n.Cause != "":
		return "asked by " + n.Cause
	}
	return ""
}

// spent is the cost of a run.
func spent(n *trace.Node) string {
	var parts []string
	if n.ModelCalls > 0 {
		parts = append(parts, output.Count(int64(n.ModelCalls), "model call"))
	}
	if n.ToolCalls > 0 {
		parts = append(parts, output.Count(int64(n.ToolCalls), "tool call"))
	}
	if tokens := n.InputTokens + n.OutputTokens; tokens > 0 {
		parts = append(parts, output.Count(tokens, "token"))
	}
	return strings.Join(parts, ", ")
}

// messageLine is a message on one line. Sender and recipient are left out if the node shows them.
func (t *treeText) messageLine(n *trace.Node, m *trace.TracedMessage) string {
	parts := []string{clock(m.At), strings.TrimPrefix(m.Type, "a2a.")}
	if m.From != n.From || m.To != n.To {
		parts = append(parts, strings.Join(without("", m.From, m.To), " → "))
	}
	if m.Turn > 0 {
		parts = append(parts, "turn "+strconv.Itoa(m.Turn))
	}
	if m.Outcome != "" {
		parts = append(parts, "["+m.Outcome+"]")
	}
	switch {
	case m.Redacted:
		parts = append(parts, "redacted")
	case m.Preview != "":
		parts = append(parts, `"`+m.Preview+`"`)
	case m.Reason != "":
		parts = append(parts, m.Reason)
	}
	if m.Asked {
		parts = append(parts, "<")
	}
	return strings.Join(without("", parts...), " ")
}

// clock formats a time in ms as time of day, UTC.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05") }

// words formats an identifier for people.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// without removes one value from a list.
func without(value string, list ...string) (kept []string) {
	for _, v := range list {
		if v != value {
			kept = append(kept, v)
		}
	}
	return kept
}
