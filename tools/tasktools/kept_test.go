package tasktools_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

// What the continuation does with a task is visible, also after a restart, and the tools continue from there.
func TestWhatKeepsAnAgentGoingIsSeen(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	context := func() coordination.Context {
		return coordination.Context{TaskID: id, WorkSessionID: o.task("ruda", id).text("workSessionId"), EventRole: coordination.RoleOrchestration}
	}
	happens := func(typ string, data any) {
		o.t.Helper()
		o.pass(time.Hour)
		o.appends(coordination.TaskStream(id), typ, "ruda", eventstore.ActorSystem, data)
	}
	shows := func(want answer) {
		t.Helper()
		shown, have := o.task("ruda", id), answer{}
		for name := range want {
			have[name] = shown[name]
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("the task (-want +got)\n%s", diff)
		}
	}
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden","seum"]}`)
	shows(answer{"status": "blocked", "escalationState": "none", "unblockRequestCount": 0.0, "lastUnblockerIndex": nil, "lastUnblockRequestAt": nil})
	happens(coordination.TypeUnblockRequested, coordination.Unblock{Context: context(), TargetAgentID: "eden", RequestCount: 1, RunID: "f1", Progress: "asked"})
	shows(answer{"escalationState": "requesting", "unblockRequestCount": 1.0, "lastUnblockerIndex": 0.0, "unblockRequestFailures": nil})
	happens(coordination.TypeUnblockFailed, coordination.Unblock{Context: context(), TargetAgentID: "eden", Failures: 1, Error: "e", Progress: "not delivered"})
	shows(answer{"escalationState": "requesting", "unblockRequestCount": 1.0, "lastUnblockerIndex": 0.0, "unblockRequestFailures": 1.0})
	happens(coordination.TypeUnblockRequested, coordination.Unblock{Context: context(), TargetAgentID: "seum", RequestCount: 2, RunID: "f2", Progress: "asked"})
	happens(coordination.TypeUnblockFailed, coordination.Unblock{Context: context(), RequestCount: 2, ToldAgentID: "dajim", Reason: "no_answer", Progress: "given up"})
	asked := o.events(id)[4].TS
	shows(answer{"status": "blocked", "escalationState": "failed", "unblockRequestCount": 2.0, "lastUnblockerIndex": 1.0, "unblockRequestFailures": nil,
		"lastUnblockRequestAt": time.UnixMilli(asked).UTC().Format("2006-01-02T15:04:05.000Z")})
	o = o.reopened()
	shows(answer{"status": "blocked", "escalationState": "failed", "unblockRequestCount": 2.0})
	o.does("seum", "task_resume", `{"task_id":%q}`, id)
	shows(answer{"status": "in_progress", "escalationState": nil, "unblockRequestCount": nil, "lastUnblockerIndex": nil, "inFocus": true})

	other := o.starts("ruda", "another")
	for i := 1; i <= 2; i++ {
		happens(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Context: context(), AgeHours: 25, ReassignCount: i,
			Action: coordination.ZombieMovedToBacklog, Progress: "Moved to backlog"})
		shows(answer{"status": "backlog", "reassignCount": float64(i), "outcome": nil, "inFocus": nil})
		o.refuses(task.CodeState, "ruda", "task_complete", `{"task_id":%q}`, id)
		happens(coordination.TypeBacklogAutoPicked, coordination.TaskState{Context: context(), SessionKey: "agent:ruda:main", Progress: "Picked from backlog"})
		shows(answer{"status": "in_progress", "reassignCount": float64(i), "inFocus": true}) // although another one was started after it
		if a := o.does("ruda", "task_update", `{"progress":"on"}`); a.text("taskId") != id {
			t.Errorf("active is %v, want the started one", a)
		}
	}
	happens(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Context: context(), AgeHours: 25, ReassignCount: 3,
		Action: coordination.ZombieEscalated, ToldAgentID: "dajim", Progress: "Interrupted"})
	o = o.reopened()
	shows(answer{"status": "interrupted", "reassignCount": 3.0, "outcome": map[string]any{"kind": "interrupted", "reason": "nobody worked at it for 25 h"}})
	if a := o.does("ruda", "task_update", `{"progress":"on"}`); a.text("taskId") != other {
		t.Errorf("active is %v, want the other one", a)
	}
	o.does("ruda", "task_resume", `{"task_id":%q}`, id)
	shows(answer{"status": "in_progress", "reassignCount": 3.0, "outcome": nil, "inFocus": true})
}
