package tasktools_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// asking is an agent in its main session, with the id of its call.
func asking(agent, callID string) tool.Caller {
	c := caller(agent)
	c.CallID = callID
	return c
}

// A repeated call does nothing, and is answered with the task's current state.
func TestACallActsOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	did := map[string]int{}
	id := ""
	for _, c := range []struct{ agent, name, args string }{
		{"ruda", "task_start", `{"description":"x","requires_approval":true,"steps":[{"content":"a"}]}`},
		{"eden", "task_approve", `{"task_id":%q}`},
		{"ruda", "task_update", `{"progress":"p","version":2,"taskId":%q}`},
		{"ruda", "task_block", `{"reason":"r","unblock_by":["eden"],"taskId":%q}`},
		{"eden", "task_resume", `{"task_id":%q}`},
		{"ruda", "task_complete", `{"force_complete":true,"taskId":%q}`},
		{"ruda", "task_backlog_add", `{"description":"later"}`},
		{"ruda", "task_pick_backlog", `{}`},
		{"ruda", "task_start", `{"description":"y","requires_approval":true}`},
		{"eden", "task_reject", `{"reason":"r","task_id":%q}`},
	} {
		args := c.args
		if c.name == "task_start" {
			id = ""
		}
		if id != "" && len(args) > 2 && c.name != "task_backlog_add" {
			args = fmt.Sprintf(args, id)
		}
		who := asking(c.agent, "call-"+c.name)
		first := o.doesAs(who, c.name, "%s", args)
		if id == "" {
			id = first.text("taskId")
		}
		before := len(o.events(""))
		again := o.doesAs(who, c.name, "%s", args)
		if again["duplicate"] != true || first["duplicate"] != nil {
			t.Errorf("%s: first %v, again %v", c.name, first, again)
		}
		for _, field := range []string{"taskId", "status", "version", "workSessionId", "totalActiveTasks", "remainingTasks", "priority"} {
			if diff := cmp.Diff(first[field], again[field]); diff != "" {
				t.Errorf("%s: %s (-first +again)\n%s", c.name, field, diff)
			}
		}
		if after := len(o.events("")); after != before {
			t.Errorf("%s: %d events were appended", c.name, after-before)
		}
		did[c.name]++
	}
	if len(did) != 9 {
		t.Errorf("called were %v", did)
	}
}

// The same id means another call for another agent, session, tool or argument; without an id nothing is recognised.
func TestCallsAreToldApart(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	elsewhere := asking("ruda", "1")
	elsewhere.SessionKey = "agent:ruda:elsewhere"
	for _, c := range []tool.Caller{asking("ruda", "1"), asking("eden", "1"), elsewhere, asking("ruda", "2"), asking("ruda", ""), asking("ruda", "")} {
		o.doesAs(c, "task_start", `{"description":"x"}`)
	}
	o.doesAs(asking("ruda", "1"), "task_start", `{"description":"y"}`)
	o.doesAs(asking("ruda", "1"), "task_backlog_add", `{"description":"x"}`)
	if n := len(o.events("")); n != 8 {
		t.Errorf("%d tasks", n)
	}
	if a := o.doesAs(asking("ruda", "1"), "task_start", ` { "description" : "x" } `); a["duplicate"] != true {
		t.Errorf("the same in other writing: %v", a)
	}
}

// An interrupted run that is repeated makes the same calls; another run that uses the same id makes others.
func TestCallsOfRunsThatBeginAgain(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	queued := func(runID, retryOf string) {
		data, err := json.Marshal(coordination.RunQueued{RunID: runID, RetryOf: retryOf, SessionKey: "agent:ruda:main", Cause: "chat", Message: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.RunStream(runID),
			Events: []eventstore.NewEvent{{Type: coordination.TypeRunQueued, AgentID: "ruda", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	queued("first", "")
	queued("again", "first")
	queued("other", "")
	started := map[string]string{}
	for _, runID := range []string{"first", "again", "other"} {
		c := asking("ruda", "1")
		c.RunID = runID
		a := o.doesAs(c, "task_start", `{"description":"x"}`)
		if started[runID] = a.text("taskId"); (a["duplicate"] == true) != (runID == "again") {
			t.Errorf("%s: %v", runID, a)
		}
	}
	if started["first"] != started["again"] || started["first"] == started["other"] {
		t.Errorf("started are %v", started)
	}
}

// Concurrent repetitions of one call act once, too.
func TestACallActsOnceAtOnce(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	all := together(6, func(int) outcome {
		a, err := o.call(asking("ruda", "1"), "task_start", `{"description":"x"}`)
		return outcome{a, err}
	})
	count(t, all)
	duplicates := 0
	for _, one := range all {
		if one.said["duplicate"] == true {
			duplicates++
		}
		if one.said.text("taskId") != all[0].said.text("taskId") {
			t.Errorf("%v and %v", one.said, all[0].said)
		}
	}
	if n := len(o.events("")); n != 1 || duplicates != 5 {
		t.Errorf("%d events, %d duplicates", n, duplicates)
	}
}

// A refusal is decided again when the call is repeated; only what the stop guard has recorded is not recorded twice.
func TestRefusedCallsAreDecidedAgain(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"}]}`).text("taskId")
	for range 2 {
		a, err := o.call(asking("ruda", "1"), "task_complete", `{}`)
		if err != nil || a.text("code") != task.CodeStopGuard || len(a.list("remaining_steps")) != 1 {
			t.Errorf("%v, %v", a, err)
		}
	}
	if diff := cmp.Diff([]string{"task.started", "task.stop_guard_blocked"}, o.types(id)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	o.does("ruda", "task_update", `{"action":"complete_step","step_id":"s1"}`)
	if a := o.doesAs(asking("ruda", "1"), "task_complete", `{}`); a["duplicate"] != nil || a.text("status") != "completed" {
		t.Errorf("completion: %v", a)
	}
}
