package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Task is what is needed of a plan's task. A task that does not exist has ID "".
type Task struct {
	ID, Agent, WorkSessionID string
	Over                     bool // it is over
}

// SubmitAsk submits a plan.
type SubmitAsk struct {
	Asked
	PlanID     string // of the new plan
	SessionKey string // the submitting session; ""
	Task       Task
	Title      string
	Steps      []string
	Tools      []string // requested tools
	Known      []string // the tools that plans may request: lower-case names, or patterns with *
	Pending    int      // pending plans of the agent
}

// Submit decides on plan.submitted, which asks for approval. Only the owner of a task submits plans for it.
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
		return &Refusal{Reason: CodeNotAllowed, Text: "only agents submit plans", HintText: "ask the owner of the task to submit it"}
	case a.Task.ID == "":
		return &Refusal{Reason: CodeUnknownTask, Field: "task_id", Text: "the plan has no task",
			HintText: "start one with task_start, or name one of yours; list them with task_list"}
	case a.Task.Agent != a.By:
		return &Refusal{Reason: CodeUnknownTask, Field: "task_id", Text: "task " + coordination.Quoted(a.Task.ID) + " is unknown",
			HintText: "list your tasks with task_list"}
	case a.Task.Over:
		return &Refusal{Reason: CodeState, Field: "task_id", Text: "task " + coordination.Quoted(a.Task.ID) + " is over and takes no more plans",
			HintText: "start another task with task_start"}
	case a.Pending >= MaxPending:
		return &Refusal{Reason: CodeFull, Text: fmt.Sprintf("%s has %d pending plans and can have no more", coordination.Quoted(a.By), a.Pending),
			HintText: "ask a lead or a person to decide some of them"}
	}
	return nil
}

func (a SubmitAsk) steps() ([]string, error) {
	switch {
	case len(a.Steps) == 0:
		return nil, invalid("steps", "the plan has no steps", "list in steps what is to be done, in order")
	case len(a.Steps) > MaxSteps:
		return nil, &Refusal{Reason: CodeFull, Field: "steps",
			Text:     fmt.Sprintf("the plan has %d steps; at most %d are allowed", len(a.Steps), MaxSteps),
			HintText: "use larger steps, or submit several plans"}
	}
	steps := make([]string, len(a.Steps))
	for i, step := range a.Steps {
		var err error
		if steps[i], err = needed("steps", step, MaxStepText, "say in each step what to do"); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// tools returns the requested tool names, each once. Patterns and groups are refused, so that approvers see exactly what they approve.
func (a SubmitAsk) tools() (list []string, err error) {
	for _, tool := range a.Tools {
		if tool, err = line("tools_requested", strings.ToLower(tool), MaxToolName, "leave blank names out"); err != nil {
			return nil, err
		}
		if !IsKnown(a.Known, tool) {
			return nil, &Refusal{Reason: CodeUnknownTool, Field: "tools_requested", Text: "plans cannot request a tool " + coordination.Quoted(tool),
				HintText: a.knownTools()}
		}
		if !slices.Contains(list, tool) {
			list = append(list, tool)
		}
		if len(list) > MaxTools {
			return nil, &Refusal{Reason: CodeFull, Field: "tools_requested", Text: fmt.Sprintf("a plan requests at most %d tools", MaxTools),
				HintText: "request fewer, or submit several plans"}
		}
	}
	return list, nil
}

// IsKnown reports whether a plan may request a tool.
func IsKnown(known []string, tool string) bool {
	return !strings.ContainsAny(tool, "*:") && slices.ContainsFunc(known, func(pattern string) bool { return coordination.Matches(pattern, tool) })
}

// maxKnown limits the tools listed in a refusal.
const maxKnown = 20

func (a SubmitAsk) knownTools() string {
	switch known := a.Known; {
	case len(known) == 0:
		return "leave tools_requested out: no tool needs a plan"
	case len(known) > maxKnown:
		return "give exact tool names, of " + strings.Join(known[:maxKnown], ", ") + " and others"
	default:
		return "give exact tool names, of " + strings.Join(known, ", ")
	}
}
