package taskfile

import (
	"encoding/json"
	"strings"
)

// Month is a file of task-history: the tasks that ended in a month, in order.
type Month struct {
	Text    string // the whole file
	entries []Entry
	pieces  []int // offsets of the pieces in Text: the text before the first entry, if any, then each entry
}

// Entry is a task of a month.
type Entry struct {
	Description string // of the heading
	Context     string
	TaskID      string
	Priority    string
	Started     string
	Completed   string
	Duration    string
	Progress    []string
	Summary     string
}

const entryMark = "## ["

// ParseMonth parses a file of task-history.
func ParseMonth(text string) *Month {
	m := &Month{Text: text}
	start := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		if start == 0 || strings.HasPrefix(line, entryMark) {
			m.pieces = append(m.pieces, start)
		}
		start += len(line)
	}
	for i := range m.pieces {
		if piece := m.piece(i); strings.HasPrefix(piece, entryMark) {
			m.entries = append(m.entries, parseEntry(piece))
		}
	}
	return m
}

func (m *Month) piece(i int) string {
	if i+1 < len(m.pieces) {
		return m.Text[m.pieces[i]:m.pieces[i+1]]
	}
	return m.Text[m.pieces[i]:]
}

// Last returns the last n pieces of the file; the text before the first entry counts as one.
func (m *Month) Last(n int) string {
	if n >= len(m.pieces) {
		return m.Text
	}
	return m.Text[m.pieces[len(m.pieces)-n]:]
}

// Find returns the first entry of a task.
func (m *Month) Find(taskID string) (*Entry, bool) {
	for i := range m.entries {
		if m.entries[i].TaskID == taskID {
			return &m.entries[i], true
		}
	}
	return nil, false
}

// Entries lists the tasks of the month in file order.
func (m *Month) Entries() []Entry { return m.entries }

func parseEntry(piece string) Entry {
	heading, body, _ := strings.Cut(piece, "\n")
	at, description, _ := strings.Cut(strings.TrimPrefix(heading, entryMark), "]")
	e := Entry{Description: readItem(trim(description)), Completed: trim(at), Progress: []string{}}
	var part string
	var summary []string
	for line := range strings.SplitSeq(body, "\n") {
		line = trim(line)
		switch {
		case strings.HasPrefix(line, "### "):
			part = strings.ToLower(trim(line[len("### "):]))
		case line == "" || strings.HasPrefix(line, "---"):
		case part == "progress":
			e.Progress = append(e.Progress, items([]string{line})...)
		case part == "summary":
			summary = append(summary, readLine(line))
		case part == "":
			e.readField(line)
		}
	}
	e.Summary = strings.Join(summary, "\n")
	return e
}

func (e *Entry) readField(line string) {
	key, value, _ := field(line)
	if value == "" {
		return
	}
	value = readItem(value)
	switch key {
	case "Context":
		e.Context = value
	case "Task ID":
		e.TaskID = value
	case "Priority":
		e.Priority = value
	case "Started":
		e.Started = value
	case "Completed":
		e.Completed = value
	case "Duration":
		e.Duration = value
	}
}

// Cancelled reports whether the task was cancelled, and why, from its last line of progress or its summary.
func (e *Entry) Cancelled() (reason string, cancelled bool) {
	if n := len(e.Progress); n > 0 {
		last := e.Progress[n-1]
		if reason, ok := after(last, "Task cancelled"); ok {
			return reason, true
		}
		if strings.HasPrefix(last, "Task completed") {
			return "", false
		}
	}
	return after(e.Summary, "Cancelled")
}

// after returns the text after words and a colon; it may be "".
func after(text, words string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, words)
	if !ok || rest != "" && !strings.HasPrefix(rest, ":") {
		return "", false
	}
	return trim(strings.TrimPrefix(rest, ":")), true
}

// Task returns the entry as a task, with its summary as context and its outcome as the tools write one.
func (e *Entry) Task() Task {
	t := Task{ID: e.TaskID, Status: "completed", Priority: e.Priority, Description: e.Description, Context: e.Summary, Source: "history",
		Created: e.Started, LastActivity: e.Completed, Progress: e.Progress}
	if t.Priority == "" {
		t.Priority = DefaultPriority
	}
	if t.Context == "" {
		t.Context = e.Context
	}
	outcome := struct {
		Kind    string `json:"kind"`
		Summary string `json:"summary,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}{Kind: "completed", Summary: e.Summary}
	if reason, cancelled := e.Cancelled(); cancelled {
		t.Status, outcome.Kind, outcome.Summary, outcome.Reason = "cancelled", "cancelled", "", reason
	}
	t.Outcome, _ = json.Marshal(outcome) // marshalling strings cannot fail
	return t
}
