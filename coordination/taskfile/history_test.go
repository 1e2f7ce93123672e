package taskfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

const month = `# Task History - February 2026

---

## [2026-02-18T12:00:00.000Z] 취소된 작업

**Context:** 문맥
**Task ID:** task_h1
**Priority:** low
**Started:** 2026-02-16T18:00:00.000Z
**Completed:** 2026-02-18T12:00:01.000Z
**Duration:** 42h 0m

### Progress
- Task started
- Task cancelled: 중복

### Summary
Cancelled: 중복
---

## [2026-02-19T12:00:00.000Z] 끝난 작업

**Task ID:** task_h2
### Progress
- Task completed
### Summary
Cancelled flights are rebooked
둘째 줄
---

## [2026-02-20T12:00:00.000Z] 다시

**Task ID:** task_h1
`

func TestMonthOfHistory(t *testing.T) {
	t.Parallel()
	m := taskfile.ParseMonth(month)
	if n := len(m.Entries()); n != 3 {
		t.Fatalf("%d entries", n)
	}
	for id, want := range map[string]string{
		"task_h1": `{"id":"task_h1","status":"cancelled","priority":"low","description":"취소된 작업","context":"Cancelled: 중복","source":"history",
			"created":"2026-02-16T18:00:00.000Z","lastActivity":"2026-02-18T12:00:01.000Z","progress":["Task started","Task cancelled: 중복"],
			"outcome":{"kind":"cancelled","reason":"중복"}}`,
		"task_h2": `{"id":"task_h2","status":"completed","priority":"medium","description":"끝난 작업","context":"Cancelled flights are rebooked\n둘째 줄",
			"source":"history","created":"","lastActivity":"2026-02-19T12:00:00.000Z","progress":["Task completed"],
			"outcome":{"kind":"completed","summary":"Cancelled flights are rebooked\n둘째 줄"}}`,
	} {
		e, ok := m.Find(id)
		if !ok {
			t.Errorf("%s not found", id)
			continue
		}
		if diff := cmp.Diff(decoded(t, want), decoded(t, encoded(t, e.Task()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if _, ok := m.Find("task_h3"); ok {
		t.Error("found what is not there")
	}
	if last := m.Last(1); last != "## [2026-02-20T12:00:00.000Z] 다시\n\n**Task ID:** task_h1\n" {
		t.Errorf("last piece: %q", last)
	}
	if m.Last(4) != month || m.Last(3) == month {
		t.Error("what stands before the first entry is one piece")
	}
}

func TestCancelledIsWhatTheEndSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		progress []string
		summary  string
		want     bool
		reason   string
	}{
		{[]string{"Task cancelled"}, "", true, ""},
		{[]string{"Task cancelled: 이유: 둘"}, "anything", true, "이유: 둘"},
		{[]string{"Task cancelled: x", "Task completed"}, "Cancelled: x", false, ""},
		{[]string{"note"}, "Cancelled", true, ""},
		{nil, "Cancelled: no need", true, "no need"},
		{nil, "Cancelled flights", false, ""},
		{nil, "not Cancelled: x", false, ""},
		{nil, "", false, ""},
	} {
		e := taskfile.Entry{Progress: tt.progress, Summary: tt.summary}
		if reason, cancelled := e.Cancelled(); cancelled != tt.want || reason != tt.reason {
			t.Errorf("%q, %q: %q, %t", tt.progress, tt.summary, reason, cancelled)
		}
	}
}

func TestCurrentTaskVariants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want taskfile.Current
	}{
		{"", taskfile.Current{State: "none"}},
		{"# Current Task\n\n*(No active focus task)*\n", taskfile.Current{State: "none"}},
		{"# Current Task\n\n## Current\n\n*(No task in progress)*\n", taskfile.Current{State: "none"}},
		{"# Current Task\n\n## Current\n\n*(Last task ended with error)*\n", taskfile.Current{State: "error"}},
		{"# Current Task\n\n**Focus:** task_a1\n\n## 로그인 구현\n\n**Status:** in_progress\n", taskfile.Current{State: "task", TaskID: "task_a1", Description: "로그인 구현"}},
		{"# Current Task\r\n\r\n**Focus:** task_a1\r\n", taskfile.Current{State: "task", TaskID: "task_a1"}},
		{"# Current Task\n\n## Current\n\n**Task:** 온보딩: 정리\n**Thread ID:** 1\n", taskfile.Current{State: "task", Text: "온보딩: 정리"}},
		{"손으로 쓴 글", taskfile.Current{State: "task"}},
	} {
		if got := taskfile.ParseCurrent(tt.text); got != tt.want {
			t.Errorf("%q: %+v", tt.text, got)
		}
	}
}
