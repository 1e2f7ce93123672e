package taskfile

import "strings"

// Step is a step of a task.
type Step struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"` // done, in_progress, pending, skipped
	Order   int    `json:"order"`  // from 1
}

// StepsProgress counts steps by status.
type StepsProgress struct {
	Total      int `json:"total"`
	Done       int `json:"done"`
	InProgress int `json:"inProgress"`
	Pending    int `json:"pending"`
	Skipped    int `json:"skipped"`
}

func (t *Task) readSteps(lines []string) {
	for _, line := range lines {
		if step, ok := readStep(line); ok {
			step.Order = len(t.Steps) + 1
			t.Steps = append(t.Steps, step)
		}
	}
	t.StepsProgress = CountSteps(t.Steps)
}

// CountSteps counts steps by status; nil for none.
func CountSteps(steps []Step) *StepsProgress {
	if len(steps) == 0 {
		return nil
	}
	p := StepsProgress{Total: len(steps)}
	for i := range steps {
		switch steps[i].Status {
		case "done":
			p.Done++
		case "in_progress":
			p.InProgress++
		case "pending":
			p.Pending++
		case "skipped":
			p.Skipped++
		}
	}
	return &p
}

// stepMark returns the list mark of a status.
func stepMark(status string) string {
	switch status {
	case "done":
		return "x"
	case "in_progress":
		return ">"
	case "skipped":
		return "-"
	}
	return " "
}

// readStep parses "- [x] (s1) what to do".
func readStep(line string) (step Step, ok bool) {
	for mark, status := range map[string]string{"x": "done", ">": "in_progress", " ": "pending", "-": "skipped"} {
		rest, found := strings.CutPrefix(line, "- ["+mark+"] (")
		if !found {
			continue
		}
		id, content, found := strings.Cut(rest, ") ")
		content = trim(content)
		return Step{ID: id, Content: readItem(content), Status: status}, found && isWord(id) && content != ""
	}
	return Step{}, false
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
