package taskfile

import "strings"

// States of Current.
const (
	CurrentTask   = "task"
	CurrentNone   = "none"
	CurrentFailed = "error" // the last task ended with an error, and there is no other
)

// Current is the content of CURRENT_TASK.md. The task tools write a task's id and description; the tracker of agents without these tools
// writes a free text.
type Current struct {
	State       string // any other text is taken for a task too: a person wrote it
	TaskID      string // of the task in focus; "" if not given
	Description string // next to the id; may be ""
	Text        string // written by the tracker; may be ""
}

// ParseCurrent parses CURRENT_TASK.md.
func ParseCurrent(text string) Current {
	switch {
	case trim(text) == "", strings.Contains(text, "No task in progress"), strings.Contains(text, "No active focus"):
		return Current{State: CurrentNone}
	case strings.Contains(text, "*(Last task ended with error)*"):
		return Current{State: CurrentFailed}
	}
	c := Current{State: CurrentTask}
	for line := range strings.SplitSeq(text, "\n") {
		line = trim(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok && c.TaskID != "" && c.Description == "" {
			c.Description = readCurrentItem(trim(heading))
		}
		switch key, value, _ := field(line); {
		case key == "Focus" && c.TaskID == "":
			c.TaskID = value
		case key == "Task" && c.Text == "":
			c.Text = value
		}
	}
	return c
}
