package taskfile

import "strings"

// States of Current.
const (
	CurrentTask   = "task"
	CurrentNone   = "none"
	CurrentFailed = "error" // the last task ended with an error, and there is no other
)

// Current is what CURRENT_TASK.md says. The task tools name a task by its id and repeat its description; the tracker of agents that do not
// use them writes a text.
type Current struct {
	State       string // a file that says nothing of the kind is of a task too: somebody wrote it
	TaskID      string // of the task in focus; "" where it is not said
	Description string // that stands beside the id; may be ""
	Text        string // what the tracker wrote; may be ""
}

// ParseCurrent reads CURRENT_TASK.md.
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
