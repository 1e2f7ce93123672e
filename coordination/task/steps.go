package task

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

const (
	stepPending    = "pending"
	stepInProgress = "in_progress"
	stepDone       = "done"
	stepSkipped    = "skipped"
)

// NewStep is a requested step.
type NewStep struct {
	Content string `json:"content"`
	Status  string `json:"status"` // "" is pending
}

// plan is the ordered steps of a task.
type plan []coordination.TaskStep

// newSteps makes the steps that replace a plan; their ids continue the old ones. Only the first requested as in progress is.
func newSteps(old plan, wanted []NewStep) (plan, error) {
	n := old.highest()
	if n+len(wanted) > MaxSteps {
		return nil, tooManySteps()
	}
	var steps plan
	for i, w := range wanted {
		content, err := needed("steps.content", w.Content, MaxStepText, "say in the content of each step what to do")
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
			return nil, invalid("steps.status", "no step can be "+coordination.Quoted(status), "use pending, in_progress, done or skipped")
		}
		steps = append(steps, coordination.TaskStep{ID: stepID(n + i + 1), Content: content, Status: status, Order: i + 1})
	}
	return steps, nil
}

func tooManySteps() *Refusal {
	return &Refusal{Reason: CodeFull, Field: "steps", Text: fmt.Sprintf("a task has at most %d steps, including replaced ones", MaxSteps),
		HintText: "use larger steps, or start another task"}
}

func stepID(n int) string { return "s" + strconv.Itoa(n) }

// highest returns the highest id number of the plan, which is also the highest ever used: replacing steps get higher numbers.
func (p plan) highest() (n int) {
	for _, s := range p {
		digits, ours := strings.CutPrefix(s.ID, "s")
		if number, err := strconv.ParseInt(digits, 10, 32); ours && err == nil {
			n = max(n, int(number))
		}
	}
	return n
}

// at returns the index of a step in the plan, or -1.
func (p plan) at(id string) int {
	return slices.IndexFunc(p, func(s coordination.TaskStep) bool { return s.ID == id })
}

// busy reports whether a step is in progress.
func (p plan) busy() bool {
	return slices.ContainsFunc(p, func(s coordination.TaskStep) bool { return s.Status == stepInProgress })
}

// halt makes steps in progress pending.
func (p plan) halt() {
	for i := range p {
		if p[i].Status == stepInProgress {
			p[i].Status = stepPending
		}
	}
}

// advance starts the first pending step, unless one is in progress.
func (p plan) advance() {
	if p.busy() {
		return
	}
	if i := slices.IndexFunc(p, func(s coordination.TaskStep) bool { return s.Status == stepPending }); i >= 0 {
		p[i].Status = stepInProgress
	}
}

// remaining lists the steps that are neither done nor skipped.
func (p plan) remaining() (list []Remaining) {
	for _, s := range p {
		if s.Status == stepPending || s.Status == stepInProgress {
			list = append(list, Remaining{s.ID, s.Content, s.Status})
		}
	}
	return list
}

// unique reports whether all step ids differ; files do not guarantee it.
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

// since lists the steps that differ from an older plan.
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

// with returns a copy of the plan with changed or new steps.
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
