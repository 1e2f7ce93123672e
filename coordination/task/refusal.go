package task

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Refusal says why a request about a task was refused. Nothing has happened then.
type Refusal = coordination.Refusal[Details]

// Details are what only refusals of this package say.
type Details struct {
	Remaining []Remaining // the steps left, of CodeStopGuard
}

// Remaining is a step that is neither done nor skipped.
type Remaining struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

const (
	CodeInvalid      = "invalid_task"
	CodeUnknown      = "unknown_task"     // it does not exist, or not for this agent
	CodeState        = "wrong_state"      // the task's state does not allow it
	CodeConflict     = "conflict"         // not the expected version
	CodeStopGuard    = "stop_guard"       // steps left
	CodeDependency   = "unmet_dependency" // dependencies are not completed
	CodeNotYet       = "not_yet"          // the start date is in the future
	CodeBusy         = "active_task"      // another task is in progress
	CodeNotAllowed   = "not_allowed"      // the agent may not decide this
	CodeUnknownAgent = "unknown_agent"    // the agent is not configured
	CodeUnknownStep  = "unknown_step"     // no such step
	CodeDelegation   = "wrong_delegation" // no such delegation, or its status does not allow it
	CodeFull         = "too_much"         // a limit of this package
	CodeNothing      = "nothing_to_do"    // e.g. no active task
)

// maxShownID limits an id quoted in a refusal, in characters.
const maxShownID = 80

// UnknownTask refuses a task that does not exist, or not for the agent.
func UnknownTask(id string) *Refusal {
	return &Refusal{Reason: CodeUnknown, Field: "task_id", Text: fmt.Sprintf("there is no task %q", coordination.Head(coordination.Mask(id), maxShownID)),
		HintText: "task_list shows your tasks"}
}

// UnknownDelegation refuses a delegation that the task does not have.
func UnknownDelegation(id string) *Refusal {
	return &Refusal{Reason: CodeDelegation, Field: "delegationId",
		Text: fmt.Sprintf("the task has no delegation %q", coordination.Head(coordination.Mask(id), maxShownID)), HintText: "task_status shows which it has"}
}
