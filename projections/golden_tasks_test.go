package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// taskHistory has tasks in each state, what is delegated for them, and their files, as they are produced. Each type occurs with all members of
// its data filled.
func taskHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	add := func(stream, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 5}), Type: typ, AgentID: "eden", Actor: eventstore.ActorAgent,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "corr-golden", CausationID: "cause-golden", Data: text,
		}}})
	}
	context := func(c *coordination.Context, id string, role coordination.Role) { c.TaskID, c.EventRole = id, role }
	changes := func(id, typ string, status string) {
		add(coordination.TaskStream(id), typ, filled(func(d *coordination.TaskState) {
			context(&d.Context, id, coordination.RoleOrchestration)
			d.Status = status
		}))
	}
	starts := func(id string, change func(*coordination.TaskStarted)) {
		add(coordination.TaskStream(id), coordination.TypeTaskStarted, filled(func(d *coordination.TaskStarted) {
			context(&d.Context, id, coordination.RoleOrchestration)
			d.Steps[0] = coordination.TaskStep{ID: "s1", Content: "첫 단계", Status: "in_progress", Order: 1}
			change(d)
		}))
	}
	delegates := func(id, typ string, change func(*coordination.Delegation)) {
		add(coordination.TaskStream(id), typ, filled(func(d *coordination.Delegation) {
			context(&d.Context, id, coordination.RoleDelegation)
			d.DelegationID, d.Status = "golden-delegation", ""
			change(d)
		}))
	}
	asIs := func(*coordination.TaskStarted) {}

	starts("task_updated", asIs)
	add(coordination.TaskStream("task_updated"), coordination.TypeTaskUpdated, filled(func(d *coordination.TaskUpdated) {
		context(&d.Context, "task_updated", coordination.RoleOrchestration)
		d.Steps[0], d.StepsReplaced = coordination.TaskStep{ID: "s1", Content: "첫 단계", Status: "done", Order: 1}, false
	}))
	delegates("task_updated", coordination.TypeDelegationSpawned, func(d *coordination.Delegation) { d.Error, d.Snapshot, d.RetryCount = "", "", 0 })
	delegates("task_updated", coordination.TypeDelegationRunning, func(*coordination.Delegation) {})
	delegates("task_updated", coordination.TypeDelegationCompleted, func(*coordination.Delegation) {})
	delegates("task_updated", coordination.TypeDelegationVerified, func(*coordination.Delegation) {})
	changes("task_updated", coordination.TypeTaskVerified, "")
	starts("task_completed", asIs)
	changes("task_completed", coordination.TypeTaskStopGuardBlocked, "")
	changes("task_completed", coordination.TypeTaskForceCompleted, "completed")
	changes("task_completed", coordination.TypeTaskCompleted, "completed")
	starts("task_waiting", func(d *coordination.TaskStarted) { d.RequiresApproval = true })
	starts("task_approved", func(d *coordination.TaskStarted) { d.RequiresApproval = true })
	changes("task_approved", coordination.TypeTaskApproved, "in_progress")
	starts("task_blocked", asIs)
	add(coordination.TaskStream("task_blocked"), coordination.TypeTaskBlocked, filled(func(d *coordination.TaskBlocked) {
		context(&d.Context, "task_blocked", coordination.RoleOrchestration)
	}))
	add(coordination.TaskStream("task_backlog"), coordination.TypeTaskBacklogAdded, filled(func(d *coordination.TaskBacklogAdded) {
		context(&d.Context, "task_backlog", coordination.RoleOrchestration)
		d.DueDate, d.StartDate = "2026-12-24", "2026-12-01T09:00:00+09:00"
	}))
	starts("task_cancelled", asIs)
	changes("task_cancelled", coordination.TypeTaskCancelled, "cancelled")

	const file = "# Task: task_found\n\n## Metadata\n- **Status:** in_progress\n- **Priority:** high\n- **Created:** 2026-02-20T07:00:00.000Z\n\n" +
		"## Description\n찾은 일\n\n## Progress\n- Task started\n\n## Last Activity\n2026-02-20T08:00:00.000Z\n\n---\n*Managed by task tools*"
	const history = "# Task History - February 2026\n\n---\n\n## [2026-02-18T12:00:00.000Z] 지난 일\n\n**Task ID:** task_past\n**Priority:** low\n" +
		"**Started:** 2026-02-16T18:00:00.000Z\n**Completed:** 2026-02-18T12:00:00.000Z\n**Duration:** 42h 0m\n\n### Progress\n- Task started\n\n### Summary\n됐다"
	const month = "workspace-eden/task-history/2026-02.md"
	add(coordination.FileStream(month), coordination.TypeFileImported, filled(func(d *coordination.FileImported) { d.Path, d.Text = month, history }))
	const path = "workspace-eden/tasks/task_found.md"
	add(coordination.FileStream(path), coordination.TypeFileImported, filled(func(d *coordination.FileImported) { d.Path, d.Text = path, file }))
	add(coordination.FileStream(path), coordination.TypeFileWritten, filled(func(d *coordination.FileWritten) { d.Path = path }))
	add(coordination.FileStream(path), coordination.TypeFileConflict, filled(func(d *coordination.FileConflict) { d.Path = path }))
	const current = "workspace-eden/CURRENT_TASK.md"
	add(coordination.FileStream(current), coordination.TypeFileChanged, filled(func(d *coordination.FileChanged) {
		d.Path, d.Change, d.Offset, d.Text = current, "change", 0, new("**Focus:** task_found\n")
	}))
	return appends
}
