package task

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Statuses of a step.
const (
	stepPending    = "pending"
	stepInProgress = "in_progress"
	stepDone       = "done"
	stepSkipped    = "skipped"
)

// NewStep is a step that somebody wants.
type NewStep struct {
	Content string `json:"content"`
	Status  string `json:"status"` // "" is pending
}

// plan is the steps of a task, in order.
type plan []coordination.TaskStep

// newSteps are steps that take the place of those of a plan. Their ids go on from there. Of those that are said to be in progress only the first is.
func newSteps(old plan, wanted []NewStep) (plan, error) {
	n := old.highest()
	if n+len(wanted) > MaxSteps {
		return nil, tooManySteps()
	}
	var steps plan
	for i, w := range wanted {
		content, err := needed("steps.content", w.Content, MaxStepText, "say in the content of each step what is done in it")
		if err != nil {
			return nil, err
		}
		status := cmp.Or(w.Status, stepPending)
		switch status {
		case stepPending, stepDone, stepSkipped:
		case stepInProgress:
			if steps.busy() {
				status = stepPending
			}
		default:
			return nil, invalid("steps.status", "no step is "+shown(status), "say pending, in_progress, done or skipped")
		}
		steps = append(steps, coordination.TaskStep{ID: stepID(n + i + 1), Content: content, Status: status, Order: i + 1})
	}
	return steps, nil
}

func tooManySteps() *Refusal {
	return &Refusal{Reason: CodeFull, Field: "steps", Text: fmt.Sprintf("a task has %d steps at most, those that were replaced included", MaxSteps),
		Mend: "take larger steps, or begin another task"}
}

func stepID(n int) string { return "s" + strconv.Itoa(n) }

// highest is the highest number that an id of the plan has. No higher one was ever used: steps that replace others have higher ones.
func (p plan) highest() (n int) {
	for _, s := range p {
		digits, ours := strings.CutPrefix(s.ID, "s")
		if number, err := strconv.ParseInt(digits, 10, 32); ours && err == nil {
			n = max(n, int(number))
		}
	}
	return n
}

// at is where a step is in the plan, or -1.
func (p plan) at(id string) int {
	return slices.IndexFunc(p, func(s coordination.TaskStep) bool { return s.ID == id })
}

// busy reports whether a step is in progress.
func (p plan) busy() bool {
	return slices.ContainsFunc(p, func(s coordination.TaskStep) bool { return s.Status == stepInProgress })
}

// halt has no step in progress.
func (p plan) halt() {
	for i := range p {
		if p[i].Status == stepInProgress {
			p[i].Status = stepPending
		}
	}
}

// advance begins the first step that is pending, unless one is in progress.
func (p plan) advance() {
	if p.busy() {
		return
	}
	if i := slices.IndexFunc(p, func(s coordination.TaskStep) bool { return s.Status == stepPending }); i >= 0 {
		p[i].Status = stepInProgress
	}
}

// remaining are the steps that are neither done nor skipped.
func (p plan) remaining() (list []Remaining) {
	for _, s := range p {
		if s.Status == stepPending || s.Status == stepInProgress {
			list = append(list, Remaining{s.ID, s.Content, s.Status})
		}
	}
	return list
}

// unique reports whether all steps have ids of their own. In files they need not.
func (p plan) unique() bool {
	seen := make(map[string]bool, len(p))
	for _, s := range p {
		if seen[s.ID] {
			return false
		}
		seen[s.ID] = true
	}
	return true
}

// since are the steps that are not as they were in an older plan.
func (p plan) since(old plan) (changed []coordination.TaskStep) {
	were := make(map[string]coordination.TaskStep, len(old))
	for _, s := range old {
		were[s.ID] = s
	}
	for _, s := range p {
		if were[s.ID] != s {
			changed = append(changed, s)
		}
	}
	return changed
}

// with is the plan with steps that changed, or are new. The plan itself stays as it is.
func (p plan) with(changed []coordination.TaskStep) plan {
	if len(changed) == 0 {
		return p
	}
	after := slices.Clone(p)
	for _, s := range changed {
		if i := after.at(s.ID); i >= 0 {
			after[i] = s
		} else {
			after = append(after, s)
		}
	}
	return after.sorted()
}

func (p plan) sorted() plan {
	slices.SortStableFunc(p, func(a, b coordination.TaskStep) int { return cmp.Compare(a.Order, b.Order) })
	return p
}
