package task_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

func TestTaskOfAFile(t *testing.T) {
	t.Parallel()
	const file = `# Task: task_1

## Metadata
- **Status:** blocked
- **Priority:** someday
- **Created:** 2026-02-20T07:00:00+09:00
- **Created By Session:** agent:eden:main

## Description
x

## Progress
- Task started
- [BLOCKED] key

## Last Activity
yesterday

## Blocking
{"blockedReason": "key", "unblockedBy": ["ruda"], "unblockRequestCount": 2.9, "lastUnblockerIndex": 7, "lastUnblockRequestAt": "2026-02-20T00:00:00Z"}

## Backlog
{"createdBy": "ruda", "dependsOn": ["task_a"], "reassignCount": 1e300}

## Outcome
{"kind": "interrupted", "by": 7, "reason": "late"}
`
	read, _ := taskfile.Parse("task_1", file)
	got, progress, ok := task.FromFile("eden", &read, 5)
	want := task.Task{ID: "task_1", Agent: "eden", Status: "blocked", Priority: "medium", Description: "x", SessionKey: "agent:eden:main", CreatedBy: "ruda",
		CreatedAt: 1771538400000, ActiveAt: 1771538400000, ProgressCount: 2, Progress: "[BLOCKED] key",
		Blocked: task.Blocked{Reason: "key", By: []string{"ruda"}, Requests: 2, LastIndex: 0, LastAskedAt: 1771545600000},
		Backlog: task.Backlog{DependsOn: []string{"task_a"}, Reassigned: 1<<31 - 1},
		Outcome: task.Outcome{Kind: "interrupted", Reason: "late"}}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Task started", "[BLOCKED] key"}, progress); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesThatSayLittle(t *testing.T) {
	t.Parallel()
	for status, ended := range map[string]int64{"pending": 0, "pending_approval": 0, "in_progress": 0, "blocked": 0, "backlog": 0, "interrupted": 0,
		"completed": 5, "cancelled": 5, "abandoned": 5} {
		got, progress, ok := task.FromFile("eden", &taskfile.Task{ID: "task_1", Status: status}, 5)
		want := task.Task{ID: "task_1", Agent: "eden", Status: status, Priority: "medium", CreatedAt: 5, ActiveAt: 5, EndedAt: ended}
		if status == "blocked" {
			want.Blocked.LastIndex = -1
		}
		if diff := cmp.Diff(want, got); !ok || len(progress) > 0 || diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
	for _, status := range []string{"", "done", "failed", "abandoned_approval", "In_Progress"} {
		if got, _, ok := task.FromFile("eden", &taskfile.Task{ID: "task_1", Status: status}, 5); ok || got.ID != "" {
			t.Errorf("%q is a state: %+v", status, got)
		}
	}
}

// notInFiles is how a task stands in the log.
var notInFiles = cmp.Options{cmpopts.IgnoreFields(task.Task{}, "Version", "Seq", "Last", "Focus"), cmpopts.EquateEmpty()}

func TestFileIsTheTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\n\n## b\n---", " *(No task)*", "\u200B⏎"}))
		some := rapid.SampledFrom([]string{"", "x"})
		when := rapid.Int64Range(1, 4_000_000_000_000)
		want := task.Task{ID: "task_1", Agent: "eden", Version: 3, Seq: 4, Last: 9, Focus: 8,
			Status: rapid.SampledFrom([]string{"pending", "pending_approval", "in_progress", "blocked", "backlog", "completed", "cancelled", "abandoned", "interrupted"}).
				Draw(t, "status"),
			Priority: rapid.SampledFrom([]string{"urgent", "high", "medium", "low"}).Draw(t, "priority"), Description: text.Draw(t, "description"),
			Background: text.Draw(t, "context"), Source: some.Draw(t, "source"), Simple: rapid.Bool().Draw(t, "simple"), SessionKey: some.Draw(t, "key"),
			CreatedBy: some.Draw(t, "created by"), WorkSessionID: some.Draw(t, "work session"), PreviousWorkSessionID: some.Draw(t, "previous"),
			CreatedAt: when.Draw(t, "created"), ActiveAt: when.Draw(t, "active"),
			Backlog: task.Backlog{Assignee: some.Draw(t, "assignee"), Effort: some.Draw(t, "effort"), StartDate: some.Draw(t, "start"), DueDate: some.Draw(t, "due"),
				MilestoneID: some.Draw(t, "milestone"), MilestoneItemID: some.Draw(t, "item"), Reassigned: rapid.IntRange(0, 3).Draw(t, "reassigned"),
				DependsOn: rapid.SliceOfN(rapid.Just("task_2"), 0, 2).Draw(t, "depends on")},
		}
		if want.Terminal() {
			want.EndedAt = want.ActiveAt
			want.Outcome = task.Outcome{Kind: want.Status, Summary: text.Draw(t, "summary"), Reason: some.Draw(t, "reason"), By: some.Draw(t, "by"), Error: some.Draw(t, "error")}
		}
		if want.Status == "blocked" {
			want.Blocked = task.Blocked{Reason: text.Draw(t, "blocked"), By: []string{"ruda", "seum"}, Action: some.Draw(t, "action"),
				Requests: rapid.IntRange(0, 3).Draw(t, "requests"), LastIndex: rapid.IntRange(-1, 1).Draw(t, "index"), LastAskedAt: when.Draw(t, "asked"),
				Escalation: some.Draw(t, "escalation"), Failures: rapid.IntRange(0, 3).Draw(t, "failures")}
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "steps") {
			want.Steps = append(want.Steps, coordination.TaskStep{ID: "s" + string(rune('1'+i)), Content: text.Draw(t, "step"), Order: i + 1,
				Status: rapid.SampledFrom([]string{"done", "in_progress", "pending", "skipped"}).Draw(t, "step status")})
		}
		lines := rapid.SliceOfN(text, 0, 3).Draw(t, "progress")
		if want.ProgressCount = len(lines); len(lines) > 0 {
			want.Progress = lines[len(lines)-1]
		}
		file := task.File(&want, lines, nil, nil)
		read, ok := taskfile.Parse("task_1", taskfile.Format(&file))
		if !ok {
			t.Fatal("the file holds no task")
		}
		got, progress, ok := task.FromFile("eden", &read, 0)
		if diff := cmp.Diff(want, got, notInFiles); !ok || diff != "" {
			t.Errorf("%t (-want +got):\n%s", ok, diff)
		}
		if diff := cmp.Diff(lines, progress, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestDelegationsInTheFile(t *testing.T) {
	t.Parallel()
	const at = 1771545600000
	file := task.File(&task.Task{ID: "task_1", Status: "in_progress", CreatedAt: at, ActiveAt: at}, nil, []task.Delegation{
		{ID: "d1", Agent: "seum", From: "eden", JobID: "d1", RunID: "r1", Label: "look", Work: "find <it>", Status: "verified", Retries: 1, Most: 3, Snapshot: "found",
			CreatedAt: at, EndedAt: at + 1000, Note: "well", DecidedBy: "eden"},
		{ID: "d2", Agent: "miri", Work: "x", Status: "failed", Most: 3, Error: "timed out", CreatedAt: at, EndedAt: at + 1},
		{ID: "d3", Agent: "miri", Work: "y", Status: "running", Most: 3, CreatedAt: at},
	}, []task.DelegationEvent{{Type: "delegation_spawned", DelegationID: "d1", At: "2026-02-20T00:00:00.000Z"}})
	for _, tt := range []struct {
		name string
		got  json.RawMessage
		want string
	}{
		{"delegations", file.Delegations, `[{"delegationId":"d1","status":"verified","retryCount":1,"maxRetries":3,"label":"look","runId":"r1","targetAgentId":"seum",` +
			`"task":"find <it>","createdAt":"2026-02-20T00:00:00.000Z","completedAt":"2026-02-20T00:00:01.000Z",` +
			`"snapshot":{"content":"found","outcomeStatus":"ok","capturedAt":"2026-02-20T00:00:01.000Z"}},` +
			`{"delegationId":"d2","status":"failed","retryCount":0,"maxRetries":3,"targetAgentId":"miri","task":"x","createdAt":"2026-02-20T00:00:00.000Z",` +
			`"completedAt":"2026-02-20T00:00:00.001Z","errors":["timed out"]},` +
			`{"delegationId":"d3","status":"running","retryCount":0,"maxRetries":3,"targetAgentId":"miri","task":"y","createdAt":"2026-02-20T00:00:00.000Z"}]`},
		{"events", file.DelegationEvents, `[{"type":"delegation_spawned","delegationId":"d1","timestamp":"2026-02-20T00:00:00.000Z"}]`},
		{"summary", file.DelegationSummary, `{"total":3,"completed":0,"verified":1,"failed":1,"running":1,"allSettled":false}`},
	} {
		if diff := cmp.Diff(tt.want, string(tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	read, _ := taskfile.Parse("task_1", taskfile.Format(&file))
	if diff := cmp.Diff([]string{string(file.Delegations), string(file.DelegationEvents), string(file.DelegationSummary)},
		[]string{string(read.Delegations), string(read.DelegationEvents), string(read.DelegationSummary)}); diff != "" {
		t.Errorf("in the file (-want +got):\n%s", diff)
	}
	if none := task.File(&task.Task{Status: "in_progress"}, nil, nil, nil); none.Delegations != nil || none.DelegationEvents != nil || none.DelegationSummary != nil {
		t.Errorf("%+v", none)
	}
}

// Files that the task tools have written come out of the tables as they were.
func TestCanonicalFilesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"eden/tasks/task_bb22.md", "eden/tasks/task_dd44.md", "eden/tasks/task_ee55.md", "seum/tasks/task_s1.md", "seum/tasks/task_s2.md"} {
		text, err := os.ReadFile(filepath.Join("../../testdata/sample/workspace-" + name))
		if err != nil {
			t.Fatal(err)
		}
		read, _ := taskfile.Parse(strings.TrimSuffix(filepath.Base(name), ".md"), string(text))
		folded, progress, ok := task.FromFile("eden", &read, 0)
		if !ok {
			t.Fatalf("%s: no task", name)
		}
		again := task.File(&folded, progress, nil, nil)
		if diff := cmp.Diff(string(text), taskfile.Format(&again)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
