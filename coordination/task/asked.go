package task

import (
	"cmp"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Asked is the common part of all requests. A decision returns the events of a request; its errors are *Refusal. Texts are masked, and a
// decision does not change its task.
type Asked struct {
	By         string // the requesting agent, lower case; a person's name if Human
	Human      bool   // a person asks, through an API or the command line
	SessionKey string // the requesting session; ""
	Expect     *int64 // expected version of the task; nil for any
	Now        int64  // ms since 1970

	// NewWorkSession is joined by a task without one, such as one known from a file alone.
	NewWorkSession string
}

// owner refuses agents other than the task's owner, and an unexpected version. People may do what the owner may.
func (a Asked) owner(t *Task) error {
	if a.By != t.Agent && !a.Human {
		return UnknownTask(t.ID)
	}
	return a.Expects(t)
}

// Expects refuses an unexpected version of the task.
func (a Asked) Expects(t *Task) error {
	if a.Expect == nil || *a.Expect == t.Version {
		return nil
	}
	return &Refusal{Reason: CodeConflict, Field: "version", Text: fmt.Sprintf("task %s is at version %d, not at %d", t.ID, t.Version, *a.Expect),
		HintText: "read the task with task_status, then decide again"}
}

// decider returns the requester if it is not the task's owner.
func (a Asked) decider(t *Task) string {
	if a.By == t.Agent && !a.Human {
		return ""
	}
	return coordination.Mask(a.By)
}

// wrongState refuses a request that the task's state does not allow.
func wrongState(t *Task, verb, hint string) *Refusal {
	return &Refusal{Reason: CodeState, Field: "task_id", Text: "task " + t.ID + " is " + t.Status + " and cannot be " + verb, HintText: hint}
}

// over is the hint for tasks that have ended.
const over = "the task is over: start another one with task_start"

// orOver returns hint, or over for a task that has ended.
func orOver(t *Task, hint string) string {
	if t.Terminal() {
		return over
	}
	return hint
}

// context is the context of a request's events.
func (t *Task) context(a Asked) coordination.Context {
	return coordination.Context{TaskID: t.ID, WorkSessionID: cmp.Or(t.WorkSessionID, a.NewWorkSession), EventRole: coordination.RoleOrchestration}
}

// renewed is context with a new work session, unless that is "".
func (t *Task) renewed(a Asked, workSession string) coordination.Context {
	c := t.context(a)
	if workSession != "" && workSession != t.WorkSessionID {
		c.WorkSessionID, c.PreviousWorkSessionID = workSession, t.WorkSessionID
	}
	return c
}

// happens returns an event of the task.
func (t *Task) happens(typ string, data any) Event { return Event{typ, t.Agent, data} }
