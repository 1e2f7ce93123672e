package taskfile

import "strings"

// FormatCurrent returns the text of CURRENT_TASK.md for the task in focus; nil for none.
func FormatCurrent(t *Task) string {
	var b strings.Builder
	b.WriteString("# Current Task\n\n")
	if t == nil {
		b.WriteString("*(No active focus task)*\n\nUse `task_list` to see all tasks.\n\n" + signature)
		return b.String()
	}
	b.WriteString("**Focus:** " + t.ID + "\n\n## " + writeCurrentItem(t.Description) + "\n\n")
	b.WriteString("**Status:** " + writeCurrentItem(t.Status) + "\n")
	b.WriteString("**Priority:** " + writeCurrentItem(t.Priority) + "\n")
	b.WriteString("**Created:** " + writeCurrentItem(t.Created) + "\n\n### Progress\n")
	for _, item := range t.Progress {
		b.WriteString("- " + writeCurrentItem(item) + "\n")
	}
	b.WriteString("\n" + signature)
	return b.String()
}
