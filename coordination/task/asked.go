package task

import (
	"cmp"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Asked is what every request says.
//
// A decision says what is appended for what an agent asks, or why nothing is: errors are *Refusal. Texts are masked, and a decision never
// changes the task that it is given.
type Asked struct {
	By         string // the agent that asks, lower case; a person's name if Human
	Human      bool   // a person asks, by a wire or on the command line
	SessionKey string // in which; ""
	Expect     *int64 // version that the task must have; nil is any
	Now        int64  // ms since 1970

	// NewWorkSession is the work session that the task joins with what it is asked for, where it has none: files need not name one.
	NewWorkSession string
}

// owner refuses whom the task does not belong to, and a task that is not at the version that is expected. People may do what its owner may.
func (a Asked) owner(t *Task) error {
	if a.By != t.Agent && !a.Human {
		return unknown(t.ID)
	}
	return a.Expects(t)
}

// Expects refuses a task that is not at the version that is expected.
func (a Asked) Expects(t *Task) error {
	if a.Expect == nil || *a.Expect == t.Version {
		return nil
	}
	return &Refusal{Reason: CodeConflict, Field: "version", Text: fmt.Sprintf("task %s is at version %d, not at %d", t.ID, t.Version, *a.Expect),
		Mend: "read the task again with task_status, and decide by what it says now"}
}

// decider is who asks, where that is not the owner of the task.
func (a Asked) decider(t *Task) string {
	if a.By == t.Agent && !a.Human {
		return ""
	}
	return coordination.Mask(a.By)
}

func unknown(taskID string) *Refusal {
	return &Refusal{Reason: CodeUnknown, Field: "task_id", Text: "task " + shown(taskID) + " is not known",
		Mend: "list your tasks with task_list"}
}

// wrongState refuses what the state of a task does not lead to.
func wrongState(t *Task, verb, mend string) *Refusal {
	return &Refusal{Reason: CodeState, Field: "task_id", Text: "task " + t.ID + " is " + t.Status + " and cannot be " + verb, Mend: mend}
}

// over tells what follows on a task that has ended.
const over = "nothing follows on a task that is over: begin another one with task_start"

// orOver is a hint for tasks that are not over.
func orOver(t *Task, mend string) string {
	if t.Terminal() {
		return over
	}
	return mend
}

// context is where an event belongs that comes of what was asked.
func (t *Task) context(a Asked) coordination.Context {
	return coordination.Context{TaskID: t.ID, WorkSessionID: cmp.Or(t.WorkSessionID, a.NewWorkSession), EventRole: coordination.RoleOrchestration}
}

// renewed is context, with which a new work session begins unless that is "".
func (t *Task) renewed(a Asked, workSession string) coordination.Context {
	c := t.context(a)
	if workSession != "" && workSession != t.WorkSessionID {
		c.WorkSessionID, c.PreviousWorkSessionID = workSession, t.WorkSessionID
	}
	return c
}

// happens is an event of the task.
func (t *Task) happens(typ string, data any) Event { return Event{typ, t.Agent, data} }
