package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

const (
	setSteps     = "set_steps"
	addStep      = "add_step"
	completeStep = "complete_step"
	startStep    = "start_step"
	skipStep     = "skip_step"
	reorderSteps = "reorder_steps"
)

// UpdateAsk adds progress to a task, changes its steps, or both.
type UpdateAsk struct {
	Asked
	Progress    string
	Action      string // set_steps, add_step, complete_step, start_step, skip_step, reorder_steps; ""
	StepContent string
	StepID      string
	Order       []string
	Steps       []NewStep
}

// Update decides on task.updated. Without a progress text, the line describes the change of the steps.
func Update(t *Task, a UpdateAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if t.Status != coordination.StateInProgress && t.Status != coordination.StateBlocked {
		return nil, wrongState(t, "updated", orOver(t, "only a task that is in progress or blocked takes progress: start it first"))
	}
	progress, err := text("progress", a.Progress, MaxLine)
	if err != nil {
		return nil, err
	}
	if coordination.TrimJS(progress) == "" {
		progress = ""
	}
	if progress == "" && a.Action == "" {
		return nil, invalid("progress", "neither progress nor action is given", "say what was done, or name an action on the steps")
	}
	data := coordination.TaskUpdated{Context: t.context(a.Asked), ProgressCount: t.ProgressCount + 1, Progress: progress, Action: a.Action}
	if a.Action != "" {
		c, err := a.change(plan(t.Steps))
		if err != nil {
			return nil, err
		}
		data.StepID = c.id
		if data.StepsReplaced = c.all; c.all {
			data.Steps = c.steps
		} else {
			data.Steps = c.steps.since(t.Steps)
		}
		if progress == "" {
			data.Progress = line(c.words)
		}
	}
	return []Event{t.happens(coordination.TypeTaskUpdated, data)}, nil
}

// change is the result of an action on a plan.
type change struct {
	steps plan
	all   bool   // the steps replace all earlier ones
	id    string // of the step concerned; ""
	words string
}

func (a UpdateAsk) change(old plan) (c change, err error) {
	c = change{steps: slices.Clone(old), all: !old.unique()}
	switch a.Action {
	case setSteps:
		if len(a.Steps) == 0 {
			return c, invalid("steps", "steps is empty", "list at least one step")
		}
		if c.steps, err = newSteps(old, a.Steps); err != nil {
			return c, err
		}
		c.steps.advance()
		c.all, c.words = true, fmt.Sprintf("Steps defined: %d", len(c.steps))
	case addStep:
		err = a.add(&c)
	case completeStep, startStep, skipStep:
		err = a.turn(&c)
	case reorderSteps:
		err = a.reorder(&c)
	default:
		err = invalid("action", "unknown action "+coordination.Quoted(a.Action),
			"use one of "+strings.Join([]string{setSteps, addStep, completeStep, startStep, skipStep, reorderSteps}, ", "))
	}
	return c, err
}

// add appends a step.
func (a UpdateAsk) add(c *change) error {
	content, err := needed("step_content", a.StepContent, MaxStepText, "say in step_content what to do")
	if err != nil {
		return err
	}
	n, order := c.steps.highest()+1, 1
	if max(n, len(c.steps)+1) > MaxSteps {
		return tooManySteps()
	}
	for _, s := range c.steps {
		order = max(order, s.Order+1)
	}
	c.id = stepID(n)
	c.steps = append(c.steps, coordination.TaskStep{ID: c.id, Content: content, Status: stepPending, Order: order})
	c.words = "[" + c.id + "] Added: " + content
	return nil
}

// turn changes the status of one step. The next one starts if none is in progress then.
func (a UpdateAsk) turn(c *change) error {
	i := c.steps.at(a.StepID)
	switch {
	case a.StepID == "":
		return invalid("step_id", "step_id is missing", "name a step, such as s1")
	case i < 0:
		return &Refusal{Reason: CodeUnknownStep, Field: "step_id", Text: "unknown step " + coordination.Quoted(a.StepID), HintText: c.steps.hint()}
	}
	var verb string
	switch a.Action {
	case completeStep:
		verb, c.steps[i].Status = "Completed", stepDone
		c.steps.advance()
	case skipStep:
		verb, c.steps[i].Status = "Skipped", stepSkipped
		c.steps.advance()
	case startStep:
		c.steps.halt()
		verb, c.steps[i].Status = "Started", stepInProgress
	}
	c.id, c.words = a.StepID, "["+a.StepID+"] "+verb+": "+c.steps[i].Content
	return nil
}

// hint lists the existing steps.
func (p plan) hint() string {
	if len(p) == 0 {
		return "the task has no steps: define them with set_steps or add_step"
	}
	ids := make([]string, len(p))
	for i, s := range p {
		ids[i] = s.ID
	}
	return "use one of " + strings.Join(ids, ", ")
}

// reorder moves the listed steps to the front, in that order, and keeps the order of the others. Unknown ids are ignored.
func (a UpdateAsk) reorder(c *change) error {
	if len(a.Order) == 0 {
		return invalid("steps_order", "steps_order is missing", c.steps.hint())
	}
	rank := make(map[string]int, len(a.Order))
	for i, id := range a.Order {
		if _, listed := rank[id]; !listed {
			rank[id] = i
		}
	}
	place := func(s coordination.TaskStep) int {
		if i, listed := rank[s.ID]; listed {
			return i
		}
		return len(a.Order)
	}
	slices.SortStableFunc(c.steps, func(x, y coordination.TaskStep) int { return place(x) - place(y) })
	for i := range c.steps {
		c.steps[i].Order = i + 1
	}
	c.words = "Steps reordered"
	return nil
}
