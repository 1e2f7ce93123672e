package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Gate says which tools the plans of an agent for a task open. An approved plan opens its tools to every session of the agent that works
// for the task, whatever happens to other plans. Which tools need a plan is decided elsewhere. The zero Gate opens nothing.
type Gate struct {
	plans map[string]*Plan // by requested tool: an approved plan, else a pending one, else the last rejected one
}

// NewGate returns the gate for an agent's sessions working for a task, and for sub-agents started for it; for taskID "" nothing is open.
// Plans of other agents or tasks are ignored.
func NewGate(plans []*Plan, agent, taskID string) Gate {
	g := Gate{plans: map[string]*Plan{}}
	if taskID == "" {
		return g
	}
	for _, p := range plans {
		if p.TaskID != taskID || !strings.EqualFold(p.Agent, agent) {
			continue
		}
		for _, tool := range p.Tools {
			tool = strings.ToLower(tool)
			if other := g.plans[tool]; other == nil || p.before(other) {
				g.plans[tool] = p
			}
		}
	}
	return g
}

// before reports whether a plan takes precedence over another for the same tool. With equal statuses the newer does.
func (p *Plan) before(other *Plan) bool {
	if p.Status != other.Status {
		return p.Status == Approved || p.Status == Pending && other.Status != Approved
	}
	return p.Last > other.Last
}

// Opens reports whether sessions may use a tool.
func (g Gate) Opens(tool string) bool {
	p := g.plans[strings.ToLower(tool)]
	return p != nil && p.Status == Approved
}

// Open lists the open tools, sorted.
func (g Gate) Open() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g.plans)), func(tool string) bool { return !g.Opens(tool) })
}

// Check refuses a tool that is not open.
func (g Gate) Check(tool string) error {
	closed := &Refusal{Reason: CodeClosed, Text: "tool " + coordination.Quoted(tool) + " needs an approved plan"}
	switch p := g.plans[strings.ToLower(tool)]; {
	case p == nil:
		closed.HintText = "submit a plan with plan_submit that has it in tools_requested"
	case p.Status == Approved:
		return nil
	case p.Status == Pending:
		closed.Text += ", and plan " + p.ID + " is pending"
		closed.HintText = "wait until a lead or a person approves the plan; plan_status shows its status"
	default:
		closed.Text += ", and plan " + p.ID + " was rejected"
		closed.HintText = "read the reason with plan_status, then submit a better plan with plan_submit"
	}
	return closed
}
