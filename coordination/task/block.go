package task

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// BlockAsk blocks a task until other agents help.
type BlockAsk struct {
	Asked
	Reason string
	By     []string
	Action string
	Known  []string // configured agents
}

func Block(t *Task, a BlockAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if !leads(t.Status, coordination.StateBlocked) {
		return nil, wrongState(t, "blocked", orOver(t, "only a task in progress can be blocked"))
	}
	reason, err := needed("reason", a.Reason, MaxText, "say in reason what the task waits for")
	if err != nil {
		return nil, err
	}
	action, err := text("unblock_action", a.Action, MaxText)
	if err != nil {
		return nil, err
	}
	by, err := names("unblock_by", a.By, MaxUnblockers, true)
	if err != nil {
		return nil, err
	}
	if len(by) == 0 {
		return nil, invalid("unblock_by", "unblock_by names no agent", "name the agents that can help")
	}
	for _, agent := range by {
		if agent == t.Agent {
			return nil, invalid("unblock_by", "a task cannot wait for its own agent "+agent, "name other agents")
		}
		if !slices.Contains(a.Known, agent) {
			return nil, unknownAgent("unblock_by", agent)
		}
	}
	return []Event{t.happens(coordination.TypeTaskBlocked, coordination.TaskBlocked{
		Context: t.context(a.Asked), Reason: reason, UnblockedBy: by, UnblockedAction: action, Progress: line("[BLOCKED] " + reason),
	})}, nil
}

func unknownAgent(field, agent string) *Refusal {
	return &Refusal{Reason: CodeUnknownAgent, Field: field, Text: "no agent " + coordination.Quoted(agent) + " is configured",
		HintText: "list the agents with agents_list"}
}
