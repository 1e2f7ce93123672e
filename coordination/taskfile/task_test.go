package taskfile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// full uses everything that a task file can say, in the words of the task tools.
const full = `# Task: task_ab12

## Metadata
- **Status:** blocked
- **Priority:** urgent
- **Created:** 2026-02-20T07:00:00.000Z
- **Source:** discord
- **Work Session:** ws_1
- **Previous Work Session:** ws_0
- **Created By Session:** agent:eden:main
- **Simple:** true
- **Blocked Reason:** 키 대기: 둘
- **Unblocked By:** ruda, , dajim
- **Unblocked Action:** 키 발급
- **Unblock Request Count:** 3
- **Escalation State:** requesting
- **Last Unblocker Index:** -1
- **Last Unblock Request At:** 2026-02-20T09:00:00.000Z

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
- [?] (s5) bad mark
* [x] (s6) bad bullet
- [x] (s-7) bad id
- [x] (s8)
## Progress
- Task started
no dash
- nested: - dash

## Last Activity
2026-02-20T10:00:00.000Z
2026-02-20T11:00:00.000Z

## Blocking
` + "```json" + `
{"blockedReason": "API 키", "unblockedBy": ["seum", 7, ""], "unblockRequestCount": 2, "lastUnblockerIndex": 0, "unblockRequestFailures": 1, "escalationState": ""}
` + "```" + `

## Backlog
{"createdBy": "ruda", "assignee": "eden", "dependsOn": ["task_a"], "estimatedEffort": "small", "startDate": "2026-02-21", "dueDate": "2026-02-28", "milestoneId": "m1", "milestoneItemId": "i1", "reassignCount": 1}

## Outcome
{"kind": "completed", "summary": "완료"}

## Delegations
` + "```json" + `
{"delegations": [{"delegationId": "d1"}], "events": [], "summary": {"total": 1}}
` + "```" + `

---
*Managed by task tools*
`

const fullJSON = `{"id":"task_ab12","status":"blocked","priority":"urgent","description":"로그인 기능 구현\n두 번째 줄\n빈 줄 다음 줄","context":"Discord 요청",
"source":"discord","workSessionId":"ws_1","previousWorkSessionId":"ws_0","created":"2026-02-20T07:00:00.000Z","lastActivity":"2026-02-20T11:00:00.000Z",
"progress":["Task started","nested: - dash"],"blockedReason":"API 키","unblockedBy":["seum"],"unblockedAction":"키 발급","unblockRequestCount":2,
"escalationState":"requesting","lastUnblockerIndex":0,"lastUnblockRequestAt":"2026-02-20T09:00:00.000Z","unblockRequestFailures":1,"createdBy":"ruda",
"assignee":"eden","dependsOn":["task_a"],"estimatedEffort":"small","startDate":"2026-02-21","dueDate":"2026-02-28",
"outcome":{"kind":"completed","summary":"완료"},"steps":[{"id":"s1","content":"구조 파악","status":"done","order":1},
{"id":"s2","content":"전략 추가","status":"in_progress","order":2},{"id":"s3","content":"콜백","status":"pending","order":3},
{"id":"s4","content":"건너뜀","status":"skipped","order":4}],"stepsProgress":{"total":4,"done":1,"inProgress":1,"pending":1,"skipped":1},
"createdBySessionKey":"agent:eden:main","simple":true,"milestoneId":"m1","milestoneItemId":"i1","reassignCount":1,
"delegations":[{"delegationId":"d1"}],"delegationEvents":[],"delegationSummary":{"total":1}}`

func TestTaskFileIsReadInFull(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"as written": full,
		"CRLF":       strings.ReplaceAll(full, "\n", "\r\n"),
		"byte order": "\uFEFF" + full,
		"indented":   strings.ReplaceAll(full, "\n", "\n  \u00a0"),
	} {
		task, ok := taskfile.Parse("task_ab12", text)
		if !ok {
			t.Fatalf("%s: no task", name)
		}
		if diff := cmp.Diff(decoded(t, fullJSON), decoded(t, encoded(t, task))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTaskFilesOfAllKinds(t *testing.T) {
	t.Parallel()
	const nothing = `"status":"pending","priority":"medium","description":"(no description)","created":"","lastActivity":"","progress":[]`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"blank", " \r\n\u3000\n", ""},
		{"marker", "# Task\n*(No task)*\n", ""},
		{"no structure", "some text\n- **Status:** blocked", nothing},
		{"unknown sections", "## Metadata \n## 메모\n- **Status:** blocked", nothing},
		{"key without value", "## Metadata\n- **Status:**  \n- **Priority:**x", strings.Replace(nothing, "medium", "x", 1)},
		{"no dash, other case", "## METADATA\n**STATUS:** done\n-**Priority:** low", strings.NewReplacer("pending", "done", "medium", "low").Replace(nothing)},
		{"later lines win", "## Metadata\n- **Status:** a\n- **Status:** b", strings.Replace(nothing, "pending", "b", 1)},
		{"odd numbers", "## Metadata\n- **Unblock Request Count:** -1\n- **Last Unblocker Index:** 99999999999999999999\n- **Simple:** no", nothing},
		{"JSON of other kinds", "## Blocking\n[1]\n{\"blockedReason\": 1, \"unblockedBy\": \"x\", \"unblockRequestCount\": \"2\"}\nnull", nothing},
		{"JSON over several lines", "## Blocking\n```json\n{\n  \"blockedReason\": \"여러 줄\"\n}\n```", nothing + `,"blockedReason":"여러 줄"`},
		{"later objects win", "## Blocking\n{\"blockedReason\": \"a\"}\n{broken}\n{\"blockedReason\": \"b\"}", nothing + `,"blockedReason":"b"`},
		{"outcome without kind", "## Outcome\n{\"summary\": \"x\"}", nothing},
		{"null members", "## Delegations\n{\"delegations\": null, \"events\": {}, \"summary\": []}\n## Backlog\n{\"reassignCount\": null}", nothing},
		{"null", "## Outcome\nnull", nothing},
	} {
		task, ok := taskfile.Parse("t", tt.text)
		if ok != (tt.want != "") {
			t.Errorf("%s: task: %t", tt.name, ok)
		}
		if !ok {
			continue
		}
		if diff := cmp.Diff(decoded(t, `{"id":"t",`+tt.want+`}`), decoded(t, encoded(t, task))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTimesThatAFileDoesNotSay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"## Progress\n- x":                                       {"now", "now"},
		"## Metadata\n- **Created:** then":                       {"then", "then"},
		"## Last Activity\nlast":                                 {"now", "last"},
		"## Metadata\n**Created:** then\n## Last Activity\nlast": {"then", "last"},
	} {
		task, _ := taskfile.Parse("t", text)
		if task = task.At("now"); task.Created != want[0] || task.LastActivity != want[1] {
			t.Errorf("%q: %s, %s", text, task.Created, task.LastActivity)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("*(No task)*")
	f.Add("## Steps\n- [x] (a) b\n## Blocking\n{\"blockedReason\":\"\\ud800\"}\n{}")
	f.Add("## [2026-01-01T00:00:00Z] x\n**Task ID:** task_1\n### Progress\n- Task cancelled: y\n### Summary\nCancelled")
	f.Add("**Focus:** task_a\n## 한국어\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // files are made valid before they are read
		}
		if joined := join(taskfile.Sections(text)); joined != text {
			t.Errorf("sections of %q join to %q", text, joined)
		}
		if task, ok := taskfile.Parse("task_x", text); ok {
			encoded(t, task)
			if task.StepsProgress != nil {
				if p := task.StepsProgress; p.Total != len(task.Steps) || p.Done+p.InProgress+p.Pending+p.Skipped != p.Total {
					t.Errorf("%+v for %d steps", p, len(task.Steps))
				}
			}
		}
		month := taskfile.ParseMonth(text)
		if month.Last(len(text)+1) != text {
			t.Error("the end of a month is not all of it")
		}
		if last := month.Last(1); !strings.HasSuffix(text, last) {
			t.Errorf("%q does not end in %q", text, last)
		}
		for _, e := range month.Entries() {
			encoded(t, e.Task())
		}
		if current := taskfile.ParseCurrent(text); current.State != taskfile.CurrentTask && current.TaskID+current.Text != "" {
			t.Errorf("a task without a task: %+v", current)
		}
	})
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decoded(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// join undoes Sections.
func join(sections []taskfile.Section) string {
	var lines []string
	for i := range sections {
		if i > 0 {
			lines = append(lines, sections[i].Heading)
		}
		lines = append(lines, sections[i].Lines...)
	}
	return strings.Join(lines, "\n")
}
