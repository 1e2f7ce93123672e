package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Task is what there is to know of the task that a plan is for. One that there is not has no id.
type Task struct {
	ID, Agent, WorkSessionID string
	Over                     bool // nothing follows on it
}

// SubmitAsk submits a plan.
type SubmitAsk struct {
	Asked
	PlanID     string // a new one
	SessionKey string // the session that submits it; ""
	Task       Task
	Title      string
	Steps      []string
	Tools      []string // names of the tools that it asks for
	Known      []string // lower-case names of the tools that plans may ask for
	Pending    int      // plans of the agent that are pending
}

// Submit decides on plan.submitted, which asks for an approval. Only the owner of a task submits plans for it.
func Submit(a SubmitAsk) (Event, error) {
	if err := a.may(); err != nil {
		return Event{}, err
	}
	title, err := line("title", a.Title, MaxTitle, "say in title what the plan is to achieve")
	if err != nil {
		return Event{}, err
	}
	steps, err := a.steps()
	if err != nil {
		return Event{}, err
	}
	tools, err := a.tools()
	if err != nil {
		return Event{}, err
	}
	return Event{coordination.TypePlanSubmitted, a.By, coordination.Plan{
		Context: coordination.Context{TaskID: a.Task.ID, WorkSessionID: a.Task.WorkSessionID, EventRole: coordination.RoleOrchestration},
		PlanID:  a.PlanID, AgentID: a.By, Title: title, StepsCount: len(steps), Steps: steps, ToolsRequested: tools, SessionKey: a.SessionKey,
	}}, nil
}

func (a SubmitAsk) may() error {
	switch {
	case a.Human:
		return &Refusal{Reason: CodeNotAllowed, Text: "a person submits no plans", Mend: "have the agent submit it whose task it is"}
	case a.Task.ID == "":
		return &Refusal{Reason: CodeUnknownTask, Field: "task_id", Text: "there is no task that the plan could be for",
			Mend: "begin one with task_start, or name one of yours: task_list shows them"}
	case a.Task.Agent != a.By:
		return &Refusal{Reason: CodeUnknownTask, Field: "task_id", Text: "task " + shown(a.Task.ID) + " is not known",
			Mend: "list your tasks with task_list"}
	case a.Task.Over:
		return &Refusal{Reason: CodeState, Field: "task_id", Text: "task " + shown(a.Task.ID) + " is over, and nothing is planned for it any more",
			Mend: "begin another task with task_start"}
	case a.Pending >= MaxPending:
		return &Refusal{Reason: CodeFull, Text: fmt.Sprintf("%s has %d plans that wait for a decision, and can have no more", shown(a.By), a.Pending),
			Mend: "ask a lead, or a person, to decide some of them"}
	}
	return nil
}

func (a SubmitAsk) steps() ([]string, error) {
	switch {
	case len(a.Steps) == 0:
		return nil, invalid("steps", "the plan has no steps", "say in steps what is to be done, one after the other")
	case len(a.Steps) > MaxSteps:
		return nil, &Refusal{Reason: CodeFull, Field: "steps",
			Text: fmt.Sprintf("the plan has %d steps, and may have %d", len(a.Steps), MaxSteps),
			Mend: "take larger steps, or submit several plans"}
	}
	steps := make([]string, len(a.Steps))
	for i, step := range a.Steps {
		var err error
		if steps[i], err = needed("steps", step, MaxStepText, "say in each step what is done in it"); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// tools are the names of those that are asked for, each once. Patterns and groups are no names: who approves sees what they approve.
func (a SubmitAsk) tools() (list []string, err error) {
	for _, tool := range a.Tools {
		if tool, err = line("tools_requested", strings.ToLower(tool), MaxToolName, "leave blank names out"); err != nil {
			return nil, err
		}
		if !slices.Contains(a.Known, tool) {
			return nil, &Refusal{Reason: CodeUnknownTool, Field: "tools_requested", Text: "there is no tool " + shown(tool) + " that a plan could ask for",
				Mend: a.knownTools()}
		}
		if !slices.Contains(list, tool) {
			list = append(list, tool)
		}
		if len(list) > MaxTools {
			return nil, &Refusal{Reason: CodeFull, Field: "tools_requested", Text: fmt.Sprintf("a plan asks for %d tools at most", MaxTools),
				Mend: "ask for fewer, or submit several plans"}
		}
	}
	return list, nil
}

// maxKnown is how many tools a refusal names.
const maxKnown = 20

func (a SubmitAsk) knownTools() string {
	switch known := a.Known; {
	case len(known) == 0:
		return "leave tools_requested out: no tool needs a plan"
	case len(known) > maxKnown:
		return "name tools as they are called, each by itself, of " + strings.Join(known[:maxKnown], ", ") + " and others"
	default:
		return "name tools as they are called, each by itself, of " + strings.Join(known, ", ")
	}
}
