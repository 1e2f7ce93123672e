package taskfile

import (
	"strconv"
	"strings"
	"time"
)

// MonthHeader returns the first lines of the history of a month such as 2026-02.
func MonthHeader(month string) string {
	if first, err := time.Parse("2006-01", month); err == nil {
		month = first.Format("January 2006")
	}
	return "# Task History - " + month + "\n"
}

// FormatEntry returns the text appended to a month's history when a task ends: a separator, a heading and the details. ParseMonth reads
// it.
func FormatEntry(e *Entry) string {
	var b strings.Builder
	at, _, _ := strings.Cut(writeItem(e.Completed), "]")
	b.WriteString("\n---\n\n" + entryMark + at + "] " + writeItem(e.Description) + "\n\n")
	for _, f := range [...]struct{ key, value string }{
		{"Context", e.Context},
		{"Task ID", e.TaskID},
		{"Priority", e.Priority},
		{"Started", e.Started},
		{"Completed", e.Completed},
		{"Duration", e.Duration},
	} {
		if f.value != "" {
			b.WriteString("**" + f.key + ":** " + writeItem(f.value) + "\n")
		}
	}
	b.WriteString("\n### Progress\n")
	for _, item := range e.Progress {
		b.WriteString("- " + writeItem(item) + "\n")
	}
	if e.Summary != "" {
		b.WriteString("\n### Summary\n" + writeText(e.Summary, isEntryPart))
	}
	return b.String()
}

// Duration formats how long a task took, as in entries: 12m, 3h 5m.
func Duration(ms int64) string {
	minutes := max(ms+30_000, 0) / 60_000
	if minutes < 60 {
		return strconv.FormatInt(minutes, 10) + "m"
	}
	return strconv.FormatInt(minutes/60, 10) + "h " + strconv.FormatInt(minutes%60, 10) + "m"
}
