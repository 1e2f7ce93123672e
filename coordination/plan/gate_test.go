package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/plan"
)

// made is a plan that asks for tools, of eden for task_1.
func made(id, status string, last int64, tools ...string) *plan.Plan {
	return &plan.Plan{ID: id, Agent: "eden", TaskID: "task_1", Status: status, Last: last, Tools: tools}
}

func TestWhatTheGateOpens(t *testing.T) {
	t.Parallel()
	pending, approved := made("p1", plan.Pending, 1, "exec"), made("p2", plan.Approved, 2, "exec", "write")
	rejected := made("p3", plan.Rejected, 3, "exec", "read")
	for name, tt := range map[string]struct {
		plans       []*plan.Plan
		agent, task string
		want        []string
	}{
		"no plan":               {nil, "eden", "task_1", nil},
		"one that is pending":   {[]*plan.Plan{pending}, "eden", "task_1", nil},
		"one that was rejected": {[]*plan.Plan{rejected}, "eden", "task_1", nil},
		"one that was approved": {[]*plan.Plan{approved}, "eden", "task_1", []string{"exec", "write"}},
		"several":               {[]*plan.Plan{pending, approved, rejected}, "eden", "task_1", []string{"exec", "write"}},
		"two that were approved": {[]*plan.Plan{made("p5", plan.Approved, 9, "write", "read"), approved}, "eden", "task_1",
			[]string{"exec", "read", "write"}},
		"the owner, in other letters": {[]*plan.Plan{approved}, "Eden", "task_1", []string{"exec", "write"}},
		"tools in other letters":      {[]*plan.Plan{made("p6", plan.Approved, 1, "EXEC")}, "eden", "task_1", []string{"exec"}},
		"another agent":               {[]*plan.Plan{approved}, "seum", "task_1", nil},
		"another task":                {[]*plan.Plan{approved}, "eden", "task_2", nil},
		"no task":                     {[]*plan.Plan{{Agent: "eden", Status: plan.Approved, Tools: []string{"exec"}}}, "eden", "", nil},
	} {
		for range 2 {
			g := plan.NewGate(tt.plans, tt.agent, tt.task)
			if open := g.Open(); !slices.Equal(open, tt.want) {
				t.Errorf("%s: %v, want %v", name, open, tt.want)
			}
			for _, tool := range []string{"exec", "read", "write", "*", ""} {
				want := slices.Contains(tt.want, tool)
				if g.Opens(tool) != want || g.Opens(strings.ToUpper(tool)) != want || (g.Check(tool) == nil) != want {
					t.Errorf("%s: %s is open: %v", name, tool, !want)
				}
			}
			slices.Reverse(tt.plans) // their order makes no difference
		}
	}
	var none plan.Gate
	if none.Opens("exec") || none.Check("exec") == nil || len(none.Open()) > 0 {
		t.Error("the zero gate is open")
	}
}

// Who finds the gate closed is told which plan to look at: one that is pending before those that were rejected, of which the last counts.
func TestClosedGateRefusal(t *testing.T) {
	t.Parallel()
	pending, old, last := made("plan_p", plan.Pending, 1, "exec"), made("plan_a", plan.Rejected, 2, "exec"), made("plan_b", plan.Rejected, 3, "exec")
	for name, tt := range map[string]struct {
		plans      []*plan.Plan
		text, hint string
	}{
		"nothing was asked for": {nil, "tool exec needs an approved plan", "tools_requested"},
		"one is pending":        {[]*plan.Plan{old, pending, last}, "and plan plan_p is pending", "wait"},
		"two were rejected":     {[]*plan.Plan{last, old}, "and plan plan_b was rejected", "reason"},
		"two, the other way":    {[]*plan.Plan{old, last}, "and plan plan_b was rejected", "reason"},
	} {
		r := refused(t, plan.Event{}, plan.NewGate(tt.plans, "eden", "task_1").Check("exec"))
		if r.Reason != plan.CodeClosed || !strings.HasSuffix(r.Text, tt.text) || !strings.Contains(r.HintText, tt.hint) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
