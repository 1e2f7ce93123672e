package taskfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

const sample = "../../testdata/sample"

// The others are not as the task tools write them: task_aa11 has a blank line in its description and lines that are no steps, two of the
// pointers are the tracker's or written by a person.
var canonical = []string{
	"workspace-eden/task-history/2026-01.md",
	"workspace-eden/task-history/2026-02.md",
	"workspace-eden/tasks/task_bb22.md",
	"workspace-eden/tasks/task_dd44.md",
	"workspace-eden/tasks/task_ee55.md",
	"workspace-seum/CURRENT_TASK.md",
	"workspace-seum/tasks/task_s1.md",
	"workspace-seum/tasks/task_s2.md",
}

func TestCanonicalFilesAreWrittenAsTheyWere(t *testing.T) {
	t.Parallel()
	var same []string
	for _, pattern := range []string{"tasks/task_*.md", "task-history/*.md", "CURRENT_TASK.md"} {
		paths, err := filepath.Glob(filepath.Join(sample, "workspace-*", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			read, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(sample, path)
			again := rewritten(filepath.ToSlash(name), string(read))
			switch {
			case again == string(read):
				same = append(same, filepath.ToSlash(name))
			case slices.Contains(canonical, filepath.ToSlash(name)):
				t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(string(read), again))
			}
			if twice := rewritten(filepath.ToSlash(name), again); twice != again {
				t.Errorf("%s changes each time (-want +got):\n%s", name, cmp.Diff(again, twice))
			}
		}
	}
	slices.Sort(same)
	if diff := cmp.Diff(canonical, same); diff != "" {
		t.Errorf("(-canonical +as they were):\n%s", diff)
	}
}

// rewritten is what a file's text becomes when it is read and written.
func rewritten(name, text string) string {
	base := strings.TrimSuffix(filepath.Base(name), ".md")
	switch {
	case base == "CURRENT_TASK":
		current := taskfile.ParseCurrent(text)
		if current.State != taskfile.CurrentTask {
			return taskfile.FormatCurrent(nil)
		}
		return taskfile.FormatCurrent(&taskfile.Task{ID: current.TaskID, Description: current.Description})
	case strings.Contains(name, "task-history"):
		again := taskfile.MonthHeader(base)
		for _, e := range taskfile.ParseMonth(text).Entries() {
			again += taskfile.FormatEntry(&e)
		}
		return again
	}
	task, _ := taskfile.Parse(base, text)
	return taskfile.Format(&task)
}

func TestTaskFileIsWrittenInFull(t *testing.T) {
	t.Parallel()
	const want = `# Task: task_ab12

## Metadata
- **Status:** blocked
- **Priority:** urgent
- **Created:** 2026-02-20T07:00:00.000Z
- **Source:** discord
- **Work Session:** ws_1
- **Previous Work Session:** ws_0
- **Created By Session:** agent:eden:main
- **Simple:** true

## Description
로그인 기능 구현
두 번째 줄
빈 줄 다음 줄

## Context
Discord 요청

## Steps
- [x] (s1) 구조 파악
- [>] (s2) 전략 추가
- [ ] (s3) 콜백
- [-] (s4) 건너뜀

## Progress
- Task started
- nested: - dash

## Last Activity
2026-02-20T11:00:00.000Z

## Blocking
` + "```json" + `
{"blockedReason": "API 키", "unblockedBy": ["seum"], "unblockedAction": "키 발급", "unblockRequestCount": 2, "lastUnblockerIndex": 0, "lastUnblockRequestAt": "2026-02-20T09:00:00.000Z", "escalationState": "requesting", "unblockRequestFailures": 1}
` + "```" + `

## Backlog
` + "```json" + `
{"createdBy": "ruda", "assignee": "eden", "dependsOn": ["task_a"], "estimatedEffort": "small", "startDate": "2026-02-21", "dueDate": "2026-02-28", "milestoneId": "m1", "milestoneItemId": "i1", "reassignCount": 1}
` + "```" + `

## Outcome
` + "```json" + `
{"kind": "completed", "summary": "완료"}
` + "```" + `

## Delegations
` + "```json" + `
{"delegations": [{"delegationId": "d1"}], "events": [], "summary": {"total": 1}}
` + "```" + `

---
*Managed by task tools*`
	task, _ := taskfile.Parse("task_ab12", full)
	slices.Reverse(task.Steps) // they stand in their order all the same
	if diff := cmp.Diff(want, taskfile.Format(&task)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCurrentTaskIsWritten(t *testing.T) {
	t.Parallel()
	const want = "# Current Task\n\n**Focus:** task_a1\n\n## 로그인\u200B⏎구현\n\n**Status:** in_progress\n**Priority:** high\n**Created:** 2026-02-20T07:00:00.000Z\n\n" +
		"### Progress\n- Task started\n- No \u200Btask in progress, **Task:\u200B** x\n\n---\n*Managed by task tools*"
	task := taskfile.Task{ID: "task_a1", Status: "in_progress", Priority: "high", Description: "로그인\n구현", Created: "2026-02-20T07:00:00.000Z",
		Progress: []string{"Task started", "No task in progress, **Task:** x"}}
	got := taskfile.FormatCurrent(&task)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := taskfile.ParseCurrent(got); c != (taskfile.Current{State: taskfile.CurrentTask, TaskID: "task_a1", Description: "로그인\n구현"}) {
		t.Errorf("%+v", c)
	}
}

func TestEntriesHoldWhatTheirTextsSay(t *testing.T) {
	t.Parallel()
	want := taskfile.Entry{Description: "a] b\n## [2026-01-01] c", Context: "여러\n줄", TaskID: "task_1", Priority: "high", Started: "2026-02-20T07:00:00.000Z",
		Completed: "2026-02-20T10:05:00.000Z", Duration: "3h 5m", Progress: []string{"Task started", "둘\n- 셋"}, Summary: "끝\n\n## [2026-02-21] x\n---\n### Progress\n- y"}
	entries := taskfile.ParseMonth(taskfile.MonthHeader("2026-02") + taskfile.FormatEntry(&want) + taskfile.FormatEntry(&want)).Entries()
	if diff := cmp.Diff([]taskfile.Entry{want, want}, entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMonthsAndDurations(t *testing.T) {
	t.Parallel()
	for month, want := range map[string]string{"2026-02": "# Task History - February 2026\n", "2026-13": "# Task History - 2026-13\n"} {
		if got := taskfile.MonthHeader(month); got != want {
			t.Errorf("%s: %q", month, got)
		}
	}
	for ms, want := range map[int64]string{-5_000_000: "0m", 0: "0m", 29_999: "0m", 30_000: "1m", 12 * 60_000: "12m", 60*60_000 - 30_001: "59m", 60*60_000 - 30_000: "1h 0m",
		185 * 60_000: "3h 5m", 42 * 3_600_000: "42h 0m"} {
		if got := taskfile.Duration(ms); got != want {
			t.Errorf("%d: %s", ms, got)
		}
	}
}

// text is what agents and people write, and what would be taken for something else if it stood in a file as it is.
var text = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{"\n", "\n\n", "\n## Steps", "\n- [x] (s9) x", "\n---", "\n*Managed by", "*(No task)*",
		"\u200B", "⏎", "\r", "\t", " ", "\uFEFF", "```\n", `{"kind":"completed"}`, "🦊", "𝒳", "키", "\u2028", "</script>", `"\`}), rapid.StringN(0, 3, -1)), 0, 6).
		Draw(t, "pieces"), "")
})

func TestInvariant19_TextsSurviveTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawTask(t)
		got, ok := taskfile.Parse(want.ID, taskfile.Format(&want))
		if !ok {
			t.Fatalf("no task in %q", taskfile.Format(&want))
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(sameJSON)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again := taskfile.Format(&got); again != taskfile.Format(&want) {
			t.Errorf("formatted again (-want +got):\n%s", cmp.Diff(taskfile.Format(&want), again))
		}
	})
}

func TestBug22_MarkdownLosesNothing(t *testing.T) {
	t.Parallel()
	want := taskfile.Task{ID: "task_1", Status: "in_progress", Priority: "medium", Created: "2026-02-20T07:00:00.000Z", LastActivity: "2026-02-20T07:00:00.000Z",
		Description: "first\n\n  indented\n## Progress\n- injected\n---\n*Managed by others", Context: "\n*(No task)*\n",
		Progress: []string{"one\ntwo\n\nfour", "## Steps", "- [x] (s1) no"}}
	got, ok := taskfile.Parse("task_1", taskfile.Format(&want))
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a task was given in the backlog stands in its file in whatever state it is.
func TestInvariant20_Bug21_TheBacklogStaysInTheFile(t *testing.T) {
	t.Parallel()
	two := 2.0
	for _, status := range []string{"pending", "pending_approval", "in_progress", "blocked", "backlog", "completed", "cancelled", "abandoned", "interrupted"} {
		for _, want := range []taskfile.Task{{ReassignCount: &two}, {MilestoneID: "m1"}, {MilestoneItemID: "i1"}, {EstimatedEffort: "small"}} {
			want.ID, want.Status, want.Priority, want.Description, want.Progress = "task_1", status, "low", "x", []string{}
			got, _ := taskfile.Parse("task_1", taskfile.Format(&want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", status, diff)
			}
		}
	}
}

func drawTask(t *rapid.T) taskfile.Task {
	some := func(name string) string {
		if rapid.Bool().Draw(t, name+"?") {
			return text.Draw(t, name)
		}
		return ""
	}
	count := func(name string) *float64 {
		if n := rapid.IntRange(-1, 3).Draw(t, name); n >= 0 {
			number := float64(n)
			return &number
		}
		return nil
	}
	list := func(name string) []string {
		return slices.DeleteFunc(rapid.SliceOfN(text, 1, 3).Draw(t, name), func(s string) bool { return s == "" })
	}
	raw := func(value any) json.RawMessage {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	task := taskfile.Task{ID: "task_1", Status: rapid.SampledFrom([]string{"in_progress", "blocked", "backlog", "completed"}).Draw(t, "status"), Priority: "high",
		Description: text.Draw(t, "description"), Context: some("context"), Source: some("source"), WorkSessionID: some("work session"),
		PreviousWorkSessionID: some("previous"), Created: some("created"), LastActivity: some("activity"),
		Progress:      append([]string{}, rapid.SliceOfN(text, 0, 3).Draw(t, "progress")...),
		BlockedReason: some("reason"), UnblockedAction: some("action"), UnblockRequestCount: count("requests"), EscalationState: some("escalation"),
		LastUnblockerIndex: count("index"), LastUnblockRequestAt: some("asked"), UnblockRequestFailures: count("failures"), CreatedBy: some("created by"),
		Assignee: some("assignee"), EstimatedEffort: some("effort"), StartDate: some("start"), DueDate: some("due"), CreatedBySessionKey: some("key"),
		Simple: rapid.Bool().Draw(t, "simple"), MilestoneID: some("milestone"), MilestoneItemID: some("item"), ReassignCount: count("reassigned")}
	if by := list("unblocked by"); len(by) > 0 {
		task.UnblockedBy = by
	}
	if on := list("depends on"); len(on) > 0 {
		task.DependsOn = on
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "steps") {
		task.Steps = append(task.Steps, taskfile.Step{ID: "s" + strconv.Itoa(i+7), Content: text.Draw(t, "step"), Order: i + 1,
			Status: rapid.SampledFrom([]string{"done", "in_progress", "pending", "skipped"}).Draw(t, "step status")})
	}
	task.StepsProgress = taskfile.CountSteps(task.Steps)
	if rapid.Bool().Draw(t, "outcome?") {
		task.Outcome = raw(map[string]string{"kind": "completed", "summary": text.Draw(t, "summary")})
	}
	if rapid.Bool().Draw(t, "delegations?") {
		task.Delegations = raw([]map[string]string{{"task": text.Draw(t, "work")}})
		task.DelegationEvents, task.DelegationSummary = raw([]string{}), raw(map[string]int{"total": 1})
	}
	return task
}

func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// Readers that know nothing of how texts are written see the same task, but for what cannot be seen.
func TestSimpleReadersSeeTheTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		seen := readSimply(taskfile.Format(&task))
		var want simple
		want.status, want.description = task.Status, visible(task.Description)
		for _, s := range task.Steps {
			want.steps = append(want.steps, s.ID+" "+map[string]string{"done": "x", "in_progress": ">", "pending": " ", "skipped": "-"}[s.Status]+" "+visible(s.Content))
		}
		for _, p := range task.Progress {
			want.progress = append(want.progress, visible(p))
		}
		want.reason, want.reassigned = task.BlockedReason, task.ReassignCount
		if diff := cmp.Diff(want, seen, cmp.AllowUnexported(simple{})); diff != "" {
			t.Errorf("(-want +got):\n%s\nin %q", diff, taskfile.Format(&task))
		}
	})
}

// visible leaves out what does not show, and takes what ends a line for what stands for that.
func visible(s string) string {
	return strings.NewReplacer("\u200B", "", "\n", "⏎", "\r", "␍", "\u2028", "␤", "\u2029", "¶").Replace(s)
}

type simple struct {
	status, description string
	steps, progress     []string
	reason              string
	reassigned          *float64
}

var simpleStep = regexp.MustCompile(`^- \[([x> -])\] \((\w+)\) ([^\n\r\x{2028}\x{2029}]+)$`)

// readSimply reads a task file as the first Task-Monitor does: line by line, each trimmed.
func readSimply(text string) (s simple) {
	var section string
	var description []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Trim(line, "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\uFEFF")
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.ToLower(heading)
			continue
		}
		if line == "" || strings.HasPrefix(line, "# Task:") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "*Managed by") {
			continue
		}
		isJSON := strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}")
		switch {
		case section == "metadata":
			if status, ok := strings.CutPrefix(line, "- **Status:** "); ok {
				s.status = status
			}
		case section == "description":
			description = append(description, line)
		case section == "steps":
			if m := simpleStep.FindStringSubmatch(line); m != nil {
				s.steps = append(s.steps, m[2]+" "+m[1]+" "+visible(m[3]))
			}
		case section == "progress":
			if item, ok := strings.CutPrefix(line, "- "); ok {
				s.progress = append(s.progress, visible(item))
			}
		case section == "blocking" && isJSON:
			var blocking struct{ BlockedReason string }
			_ = json.Unmarshal([]byte(line), &blocking)
			s.reason = blocking.BlockedReason
		case section == "backlog" && isJSON:
			var backlog struct{ ReassignCount *float64 }
			_ = json.Unmarshal([]byte(line), &backlog)
			s.reassigned = backlog.ReassignCount
		}
	}
	s.description = visible(strings.Join(description, "\n"))
	return s
}
