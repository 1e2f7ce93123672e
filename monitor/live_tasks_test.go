package monitor_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
)

// told reads frames until one of events ends with that seq, and then as many as are said to follow, and words those about tasks and agents.
func (l *listener) told(t *testing.T, last int64, follow int) (list []string) {
	t.Helper()
	for left := -1; left != 0; {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatalf("%v after %q", err, list)
		}
		var f struct {
			Type, AgentID, TaskID string
			Data                  json.RawMessage
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case "coordination_event_new":
			var data struct{ Seq int64 }
			if err := json.Unmarshal(f.Data, &data); err != nil {
				t.Fatal(err)
			}
			if data.Seq >= last {
				left = follow
			}
			continue
		case "task_update", "task_step_update", "agent_update", "plan_update":
			list = append(list, fmt.Sprintf("%s %s %s %s", f.Type, f.AgentID, f.TaskID, f.Data))
		}
		left = max(left-1, -1)
	}
	return list
}

// Clients are notified of each event of a task once, in the original's form for files; one that resumes gets what it
// has missed. Imported events are history, and events of no task are not sent.
func TestTasksAreToldAsTheyHappen(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.importing(t, event("task.started", "eden", 0, `"taskId":"task_old","priority":"low"`))
	step := coordination.TaskStep{ID: "s1", Content: "하나", Status: "in_progress", Order: 1}
	seq := b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", "ws_1"), Priority: "low",
		Description: "일", Progress: "Task started", Steps: []coordination.TaskStep{step}})
	want := []string{
		`task_update eden task_a {"event":"add","file":"task_a.md"}`,
		`task_step_update eden task_a {"event":"add","file":"task_a.md","stepsProgress":{"total":1,"done":0,"inProgress":1,"pending":0,"skipped":0},"stepCount":1}`,
		`agent_update eden  {"event":"change","file":"CURRENT_TASK.md"}`,
	}
	if diff := cmp.Diff(want, l.told(t, seq, 3)); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	seq = b.tasked(t, "ruda", "task_b", coordination.TypeTaskBacklogAdded, 2, coordination.TaskBacklogAdded{Context: ofTask("task_b", "ws_2"), Assignee: "eden",
		Priority: "low", Description: "나중", CreatedBy: "ruda", IsCrossAgent: true})
	want = []string{`task_update eden task_b {"event":"add","file":"task_b.md"}`}
	if diff := cmp.Diff(want, l.told(t, seq, 1)); diff != "" {
		t.Errorf("added for another agent (-want +got):\n%s", diff)
	}
	seq = b.tasked(t, "eden", "task_a", coordination.TypeDelegationSpawned, 3, coordination.Delegation{Context: ofTask("task_a", "ws_1"), DelegationID: "d1",
		FromAgent: "eden", ToAgent: "ruda", JobID: "d1", Status: "spawned", Work: "일"})
	if got := l.told(t, seq, 2); len(got) != 2 || got[0] != `task_update eden task_a {"event":"change","file":"task_a.md"}` {
		t.Errorf("delegated: %q", got)
	}
	b.appending(t, "a2a.send", `{"toAgent":"ruda","taskId":"task_a"}`)
	seq = b.tasked(t, "eden", "task_a", coordination.TypeTaskCompleted, 4, coordination.TaskState{Context: ofTask("task_a", "ws_1"), Status: "completed", Progress: "Task completed"})
	want = []string{`task_update eden task_a {"event":"unlink","file":"task_a.md"}`, `agent_update eden  {"event":"change","file":"CURRENT_TASK.md"}`}
	if diff := cmp.Diff(want, l.told(t, seq, 2)); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
	back := b.listen(t, fmt.Sprintf("/ws?since=%d", seq-1))
	if diff := cmp.Diff(want, back.told(t, seq, 2)); diff != "" {
		t.Errorf("sent to a client that resumes (-want +got):\n%s", diff)
	}
}

// Where another gateway keeps the tasks its files are watched; the log does not send them a second time.
func TestTasksOfAnotherGatewayAreNotToldFromTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", "ws_1"), Priority: "low", Description: "일"})
	b.appending(t, "work_session.category_set", `{"workSessionId":"ws_1","category":"infra_ops"}`)
	for {
		f := l.next(t)
		if f.Type == "task_update" || f.Type == "agent_update" {
			t.Errorf("told: %+v", f)
		}
		if f.Type == "work_session_update" {
			break
		}
	}
}
