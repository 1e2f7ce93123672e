package tasktools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// enforced is the team with the enforcer.
const enforced = team + `, tools: {taskEnforcer: {enabled: true}}`

// mayWrite reports whether a caller may use write, and checks the refusal.
func mayWrite(o *fixture, c tool.Caller) bool {
	o.t.Helper()
	out, err := o.box.Call(o.t.Context(), c, "write", nil)
	if err == nil {
		return out.Text == "written"
	}
	why, is := errors.AsType[*tool.Error](err)
	if !is || why.Code != tool.CodeTaskRequired || !strings.Contains(why.Hint, "task_start") {
		o.t.Fatalf("error is %v", err)
	}
	return false
}

func TestGuard(t *testing.T) {
	t.Parallel()
	o := setup(t, enforced)
	elsewhere := caller("ruda")
	elsewhere.SessionKey = "agent:ruda:elsewhere"
	child := caller("ruda")
	child.SessionKey = coordination.SubagentKey("ruda", "1").String()
	expect := func(when string, main, other bool) {
		t.Helper()
		if got := mayWrite(o, caller("ruda")); got != main {
			t.Errorf("%s: the main session may write: %t", when, got)
		}
		if got := mayWrite(o, elsewhere); got != other {
			t.Errorf("%s: another session may write: %t", when, got)
		}
		if !mayWrite(o, child) {
			t.Errorf("%s: a sub-agent may not write", when)
		}
		if !mayWrite(o, caller("quick")) {
			t.Errorf("%s: an agent that has no tasks may not write", when)
		}
		if mayWrite(o, caller("eden")) {
			t.Errorf("%s: another agent may write", when)
		}
	}
	expect("without tasks", false, false)
	first := o.starts("ruda", "x")
	expect("started", true, false)
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	expect("blocked", false, false)
	o.does("eden", "task_resume", `{"task_id":%q}`, first)
	expect("resumed", true, false)
	o.does("ruda", "task_complete", `{}`)
	expect("completed", false, false)
	o.does("ruda", "task_backlog_add", `{"description":"y"}`)
	expect("backlog", false, false)
	o.doesAs(elsewhere, "task_pick_backlog", `{}`)
	expect("picked elsewhere", false, true)
	waiting := o.does("ruda", "task_start", `{"description":"z","requires_approval":true}`).text("taskId")
	expect("waits for approval", true, true)
	o.does("ruda", "task_cancel", `{"task_id":%q}`, waiting)
	expect("cancelled", false, true)
}

// A finished task does not close what another one opens.
func TestGuardKnowsAllTasksOfASession(t *testing.T) {
	t.Parallel()
	o := setup(t, enforced)
	o.starts("ruda", "one")
	o.starts("ruda", "two")
	o.does("ruda", "task_complete", `{}`)
	if !mayWrite(o, caller("ruda")) {
		t.Error("one task is left, and the session may not write")
	}
}

func TestGuardIsAsConfigured(t *testing.T) {
	t.Parallel()
	for settings, may := range map[string]bool{
		team: true,
		team + `, tools: {taskEnforcer: {enabled: false}}`:                           true,
		team + `, tools: {taskEnforcer: {enabled: true, tools: []}}`:                 true,
		team + `, tools: {taskEnforcer: {enabled: true, tools: ['exec']}}`:           true,
		team + `, tools: {taskEnforcer: {enabled: true, tools: ['WRITE', 'other']}}`: false,
	} {
		if o := setup(t, settings); mayWrite(o, caller("ruda")) != may {
			t.Errorf("%s: may write is %t", settings, !may)
		}
	}
	o := setup(t, team+`, tools: {taskEnforcer: {enabled: true, tools: ['write', 'task_list']}}`)
	if _, err := o.call(caller("ruda"), "task_list", `{}`); err == nil {
		t.Error("a tool that is named is not guarded")
	}
	o.starts("ruda", "x")
	if _, err := o.call(caller("ruda"), "task_list", `{}`); err != nil {
		t.Error(err)
	}
}
