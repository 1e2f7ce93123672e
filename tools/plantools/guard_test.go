package plantools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// A gate opens with the approval of a plan that asks for the tool, for the task of the session, while that is in progress; also after a
// restart.
func TestTheGateOpensWithAnApproval(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	eden, elsewhere, seum := caller("eden"), at("eden", "agent:eden:discord:channel:1", ""), caller("seum")
	expect := func(when string, write bool) {
		t.Helper()
		o.expectMay(when, eden, "write", write)
		o.expectMay(when, elsewhere, "write", write)
		o.expectMay(when, eden, "exec", false)
		o.expectMay(when, seum, "write", false)
		o.expectMay(when, caller("quick"), "write", false)
		if again := o.reopened(); o != again {
			o = again
		}
		o.expectMay(when+", after a restart", eden, "write", write)
	}
	expect("without a task", false)
	first := o.starts("eden")
	expect("without a plan", false)
	rejected := o.submits("eden")
	expect("pending", false)
	o.does("ruda", "plan_reject", `{"plan_id":%q,"reason":"r"}`, rejected)
	expect("rejected", false)
	id := o.submits("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
	expect("approved", true)
	o.submits("eden")
	expect("approved, and another one is pending", true)
	o.does("eden", "task_block", `{"reason":"r","unblock_by":["seum"]}`)
	expect("blocked", false)
	o.expectMay("blocked", at("eden", "agent:eden:main", first), "write", false)
	o.does("eden", "task_resume", `{}`)
	expect("resumed", true)
	second := o.starts("eden")
	expect("at another task", false)
	o.expectMay("in a run for the first", at("eden", "agent:eden:main", first), "write", true)
	o.expectMay("in a run for the second", at("eden", "agent:eden:main", second), "write", false)
	o.expectMay("of another agent, for the first", at("seum", "agent:seum:main", first), "write", false)
	o.does("eden", "task_cancel", `{"task_id":%q}`, second)
	expect("at the first again", true)
	o.does("eden", "task_complete", `{"force_complete":true}`)
	expect("completed", false)
	o.expectMay("in a run for what is over", at("eden", "agent:eden:main", first), "write", false)
}

// In a run for another agent's task, an agent may use what its own task allows, and nothing by the other's plan.
func TestTheTaskOfAnotherOpensNothing(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	ofEden := o.starts("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("eden"))
	helps := at("seum", "agent:seum:a2a:c1", ofEden)
	o.expectMay("seum helps", helps, "write", false)
	o.starts("seum")
	o.expectMay("seum has a task", helps, "write", false)
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("seum"))
	o.expectMay("seum has a plan", helps, "write", true)
}

// A sub-agent is bound by the plans of the agent that started it for its task, while that delegation runs; sub-agents started by others
// for the same task are not.
func TestSubagentsWorkUnderThePlanOfTheTask(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true, depth: 2})
	taskID := o.starts("eden")
	agentOf := func(key string) string { return strings.Split(key, ":")[1] }
	spawned := func(key, args string) string {
		t.Helper()
		a, err := o.call(at(agentOf(key), key, ""), "sessions_spawn", args)
		if a.text("childSessionKey") == "" {
			t.Fatalf("started: %v, %v", a, err)
		}
		return a.text("childSessionKey")
	}
	ofSeum, own := spawned("agent:eden:main", `{"task":"look","agentId":"seum"}`), spawned("agent:eden:main", `{"task":"look"}`)
	foreign := spawned("agent:seum:main", `{"task":"look","agentId":"eden","taskId":"`+taskID+`"}`)
	further := spawned(ofSeum, `{"task":"look","taskId":"`+taskID+`"}`)
	expect := func(when string, may bool) {
		t.Helper()
		for _, key := range []string{ofSeum, own} {
			o.expectMay(when, at(agentOf(key), key, taskID), "write", may)
			o.expectMay(when, at(agentOf(key), key, ""), "write", false)
		}
		o.expectMay(when+", started by another", at("eden", foreign, taskID), "write", false)
		o.expectMay(when+", started by one who was started", at("seum", further, taskID), "write", false)
		o.expectMay(when+", without an owner", at("eden", "agent:eden:subagent:forged", taskID), "write", false)
	}
	expect("without a plan", false)
	id := o.submits("eden")
	expect("pending", false)
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, id)
	expect("approved", true)
	_, err := o.box.Call(t.Context(), at("eden", foreign, taskID), "write", nil)
	if why, is := errors.AsType[*tool.Error](err); !is || strings.Contains(why.Hint, "plan_submit") {
		t.Errorf("a sub-agent is told to submit a plan, which it cannot: %v", err)
	}
	o.wake()
	for _, e := range o.events(coordination.TypeDelegationSpawned) {
		var runID string
		if _, after, found := strings.Cut(string(e.Data), `"runId":"`); found {
			runID, _, _ = strings.Cut(after, `"`)
		}
		o.over(runID)
	}
	o.until("what is delegated is over", func() bool { return len(o.events(coordination.TypeDelegationCompleted)) == 3 })
	expect("what was delegated is done", false)
}

// The configuration decides which tools are gated; the tools that open gates never are.
func TestTheGateIsAsConfigured(t *testing.T) {
	t.Parallel()
	for config, want := range map[string][2]bool{
		`tools: {}`:                                                    {true, true},
		`tools: {planGate: {enabled: false}}`:                          {true, true},
		`tools: {planGate: {enabled: true}}`:                           {false, false},
		`tools: {planGate: {enabled: true, tools: []}}`:                {true, true},
		`tools: {planGate: {enabled: true, tools: ['Exec', 'other']}}`: {true, false},
	} {
		o := setup(t, setting{asleep: true, config: config})
		o.starts("eden")
		o.expectMay(config, caller("eden"), "write", want[0])
		o.expectMay(config, caller("eden"), "exec", want[1])
		wire := caller("eden")
		wire.Entry = tool.ByWire
		o.expectMay(config+", over a wire", wire, "exec", want[1])
	}
	o := setup(t, setting{asleep: true, config: `tools: {planGate: {enabled: true, tools: ['plan_submit', 'plan_status', 'plan_approve', 'plan_reject', 'write']}}`})
	o.starts("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("eden"))
	o.does("eden", "plan_status", `{}`)
	o.expectMay("approved", caller("eden"), "write", true)
}

// While the log cannot be read, no gate is open.
func TestABrokenGateIsClosed(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true})
	o.starts("eden")
	o.does("ruda", "plan_approve", `{"plan_id":%q}`, o.submits("eden"))
	o.close()
	out, err := o.box.Call(t.Context(), caller("eden"), "write", nil)
	if why, is := errors.AsType[*tool.Error](err); !is || why.Code != tool.CodeBroken {
		t.Errorf("got %+v, %v; want %s", out, err, tool.CodeBroken)
	}
}
