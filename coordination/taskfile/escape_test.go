package taskfile

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile is text of pieces that mean something in a file, between others that do not.
var hostile = rapid.Custom(func(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"\n", "\n\n", "\r\n", "\r", "\t", " ", "\u3000", "\u00a0", "\uFEFF", "\u0085", "\v", "\u2028", "\u2029", shield, shield + shield,
			"⏎", "␍", "␤", "¶", "\n## ", "\n### ", "## Progress", "## [2026-01-01]", "\n---", "---\n", "*(No task)*", "(No task)*", "*(" + shield + "No task)*",
			"No task in progress", "No active focus task", "*(Last task ended with error)*", "\n**Task:** x", "**Focus:** task_x", "**", "\n*Managed by", "# Task: ",
			"- [x] (s1) x", "- ", "```", "```json\n", `{"kind": "completed"}`, `{"blockedReason": "*(No task)*"}`, `\`, `"`, "]", ":**", "한글", "🦊", "𝒳", "a", "<&>"}),
		rapid.StringN(0, 4, -1),
	), 0, 10).Draw(t, "pieces")
	return strings.Join(pieces, "")
})

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := hostile.Draw(t, "text")
		for name, isPart := range map[string]func(string) bool{"task": isTaskPart, "entry": isEntryPart} {
			written := strings.Split(writeText(text, isPart), "\n")
			for _, line := range written {
				mustStandAlone(t, line)
				if isPart(trim(line)) {
					t.Errorf("%q is a part of a %s", line, name)
				}
			}
			if read := strings.Join(readLines(written), "\n"); read != text {
				t.Errorf("%q was written as %q and read as %q", text, written, read)
			}
		}
		for _, item := range []struct{ written, read string }{
			{writeItem(text), readItem(writeItem(text))},
			{writeCurrentItem(text), readCurrentItem(writeCurrentItem(text))},
		} {
			mustStandAlone(t, item.written)
			if strings.ContainsAny(item.written, "\n\r\u2028\u2029") {
				t.Errorf("%q is more than one line", item.written)
			}
			if item.read != text {
				t.Errorf("%q was written as %q and read as %q", text, item.written, item.read)
			}
		}
		for _, m := range currentMarks {
			if written := writeCurrentItem(text); strings.Contains(written, m.head+m.tail) {
				t.Errorf("%q holds %q", written, m.head+m.tail)
			}
		}
	})
}

func mustStandAlone(t *rapid.T, line string) {
	if line == "" || trim(line) != line {
		t.Errorf("something is trimmed from %q", line)
	}
	if strings.Contains(line, "*(No task)*") {
		t.Errorf("%q says that there is no task", line)
	}
}

// Two texts are never written alike, or one of them would be lost.
func TestWhatIsWrittenByHand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, line, item string }{
		{"plain: 한글 ⏎ ## not at the beginning", "plain: 한글 ⏎ ## not at the beginning", "plain: 한글 ⏎ ## not at the beginning"},
		{"", shield, shield},
		{" a", shield + " a", shield + " a"},
		{"a\t", "a\t" + shield, "a\t" + shield},
		{"## a", shield + "## a", "## a"},
		{"---", shield + "---", "---"},
		{"*(No task)*(No task)*", "*(" + shield + "No task)*(" + shield + "No task)*", "*(" + shield + "No task)*(" + shield + "No task)*"},
		{shield, shield + shield + shield, shield + shield + shield},
		{"a⏎", "a⏎", "a⏎"},
		{"a" + shield + "⏎", "a" + shield + "⏎", "a" + shield + shield + "⏎"},
	} {
		if got := writeText(tt.text, isTaskPart); got != tt.line {
			t.Errorf("line of %q: %q", tt.text, got)
		}
		if got := writeItem(tt.text); got != tt.item {
			t.Errorf("item of %q: %q", tt.text, got)
		}
	}
	if got := writeItem("a\nb\r\n" + shield + "\n"); got != "a"+shield+"⏎b"+shield+"␍"+shield+"⏎"+shield+shield+shield+"⏎" {
		t.Errorf("%q", got)
	}
}

func FuzzFormat(f *testing.F) {
	for _, text := range []string{"", " ", "a\n\n## b", "---\n*Managed by x", "*(No task)*(No task)*", shield + "⏎\n" + shield, "{\"kind\":\"x\"}", "\r\n\t🦊\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // files are made valid before they are read
		}
		want := Task{ID: "task_x", Status: "in_progress", Description: text, Context: text, Progress: []string{text, "after"}, LastActivity: text,
			Steps: []Step{{ID: "s1", Content: text, Status: "done", Order: 1}}, BlockedReason: text}
		got, ok := Parse("task_x", Format(&want))
		if !ok || got.Description != text || got.Context != text || got.Progress[0] != text || len(got.Progress) != 2 || got.LastActivity != text ||
			len(got.Steps) != 1 || got.Steps[0].Content != text || got.BlockedReason != text {
			t.Errorf("%q was written as %q and read as %+v", text, Format(&want), got)
		}
		entry := Entry{Description: text, Context: text, TaskID: "task_x", Completed: "2026-02-20T12:00:00.000Z", Progress: []string{text}, Summary: text}
		entries := ParseMonth(MonthHeader("2026-02") + FormatEntry(&entry) + FormatEntry(&entry)).Entries()
		for _, e := range entries {
			if e.Description != text || e.Context != text || e.TaskID != "task_x" || e.Summary != text || len(e.Progress) != 1 || e.Progress[0] != text {
				t.Errorf("%q was read as %+v", text, e)
			}
		}
		if len(entries) != 2 {
			t.Errorf("%d entries of %q", len(entries), text)
		}
		if c := ParseCurrent(FormatCurrent(&want)); c != (Current{State: CurrentTask, TaskID: "task_x", Description: text}) {
			t.Errorf("%q was read as %+v", text, c)
		}
	})
}
