package plan

import (
	"maps"
	"slices"
	"strings"
)

// Gate is what the plans of an agent for a task say of tools. It opens what an approved plan asks for, to every session of the agent that works
// for the task, whatever becomes of other plans. Which tools have a gate at all is not its business. The zero Gate opens nothing.
type Gate struct {
	plans map[string]*Plan // by the tool that they ask for: an approved one, else one that is pending, else the last that was rejected
}

// NewGate is the gate of the sessions of an agent that work for a task, and of the sub-agents that it has started for it; "" is no task, for which
// nothing is open. Plans of others, or for other tasks, say nothing there.
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

// before reports whether a plan says more of a tool than another one that asks for it. Of two that stand alike the newer does.
func (p *Plan) before(other *Plan) bool {
	if p.Status != other.Status {
		return p.Status == Approved || p.Status == Pending && other.Status != Approved
	}
	return p.Last > other.Last
}

// Opens reports whether a session may use a tool.
func (g Gate) Opens(tool string) bool {
	p := g.plans[strings.ToLower(tool)]
	return p != nil && p.Status == Approved
}

// Open are the tools that sessions may use, sorted.
func (g Gate) Open() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g.plans)), func(tool string) bool { return !g.Opens(tool) })
}

// Check refuses a tool that is not open.
func (g Gate) Check(tool string) error {
	closed := &Refusal{Reason: CodeClosed, Text: "tool " + shown(tool) + " is used only as an approved plan says"}
	switch p := g.plans[strings.ToLower(tool)]; {
	case p == nil:
		closed.Mend = "submit a plan with plan_submit that has it in tools_requested"
	case p.Status == Approved:
		return nil
	case p.Status == Pending:
		closed.Text += ", and plan " + p.ID + " is pending"
		closed.Mend = "wait until a lead, or a person, has approved the plan: plan_status shows how it stands"
	default:
		closed.Text += ", and plan " + p.ID + " was rejected"
		closed.Mend = "read with plan_status why, and submit a better plan with plan_submit"
	}
	return closed
}
