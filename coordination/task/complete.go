package task

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// CompleteAsk completes a task.
type CompleteAsk struct {
	Asked
	Summary    string
	Force      bool         // even with steps left
	Unverified []Delegation // of the task: completed but unverified, or unfinished
}

// Complete decides on task.completed, or task.force_completed and task.completed. With steps left it returns a *Refusal together with
// task.stop_guard_blocked, which must be appended all the same.
func Complete(t *Task, a CompleteAsk) ([]Event, error) {
	if err := a.owner(t); err != nil {
		return nil, err
	}
	if !leads(t.Status, coordination.StateCompleted) {
		return nil, wrongState(t, "completed", orOver(t, startHint(t)))
	}
	summary, err := text("summary", a.Summary, MaxText)
	if err != nil {
		return nil, err
	}
	remaining := plan(t.Steps).remaining()
	if len(remaining) > 0 && !a.Force {
		return []Event{t.stopGuard(a.Asked, remaining)}, stopped(t, remaining)
	}
	var events []Event
	if len(remaining) > 0 {
		ids := idsOf(remaining)
		events = append(events, t.happens(coordination.TypeTaskForceCompleted, coordination.TaskState{
			Context: t.context(a.Asked), RemainingSteps: ids, DecidedBy: a.decider(t),
			Progress: line("[FORCE COMPLETE] Steps left: " + strings.Join(ids, ", ")),
		}))
	}
	data := coordination.TaskState{Context: t.context(a.Asked), Summary: summary, DecidedBy: a.decider(t), Progress: "Task completed"}
	for _, d := range a.Unverified {
		data.Unverified = append(data.Unverified, d.ID)
	}
	return append(events, t.happens(coordination.TypeTaskCompleted, data)), nil
}

// startHint says how to get a task into progress.
func startHint(t *Task) string {
	switch t.Status {
	case coordination.StateBlocked, coordination.StateInterrupted:
		return "resume it first with task_resume"
	case coordination.StatePendingApproval:
		return "wait until a lead or a person approves it with task_approve"
	}
	return "begin it first with task_pick_backlog"
}

func (t *Task) stopGuard(a Asked, remaining []Remaining) Event {
	return t.happens(coordination.TypeTaskStopGuardBlocked, coordination.TaskState{
		Context: t.context(a), RemainingSteps: idsOf(remaining), Progress: "[STOP GUARD] Completion refused: " + howMany(remaining) + " left",
	})
}

func stopped(t *Task, remaining []Remaining) *Refusal {
	return &Refusal{Reason: CodeStopGuard, Text: "task " + t.ID + " cannot be completed: " + howMany(remaining) + " left", Details: Details{remaining},
		HintText: "complete or skip the remaining steps with task_update, or set force_complete if they are not needed any more"}
}

func howMany(remaining []Remaining) string {
	if len(remaining) == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", len(remaining))
}

func idsOf(remaining []Remaining) []string {
	ids := make([]string, len(remaining))
	for i, r := range remaining {
		ids[i] = r.ID
	}
	return ids
}
