package a2a

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Tasks is what a Coordinator asks of those who keep the tasks of agents, and tells them: within the transaction that is going to append.
type Tasks interface {
	// Focus is the task that an agent has in focus and its work session; "" for none.
	Focus(tx eventstore.Tx, agentID string) (taskID, workSessionID string, err error)
	// WorkSession is that of a task; "" for a task that nobody knows.
	WorkSession(tx eventstore.Tx, taskID string) (string, error)
	// Delegated says what is appended when a sub-agent is asked for on behalf of a task, f.TaskID, and has come as far as m says: running, or
	// failed where its run was refused. f.DelegationID is set where a delegation is tried again; a new one has the id of the flow. Errors:
	// *task.Refusal for one that cannot be, which refuses the sub-agent; or the log's. A task that nobody knows, that is over, or
	// that is neither the asking agent's own nor one that it works for, has no new delegations: there is nothing to append then.
	Delegated(tx eventstore.Tx, f *decide.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error)
	// Moved says what is appended when the flow of a sub-agent ends that was asked for before.
	Moved(tx eventstore.Tx, f *decide.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error)
}

// Moved is how the flow of a sub-agent has come on.
type Moved struct {
	To    string // running, completed, failed, abandoned
	Text  string // of completed: all of what the sub-agent has answered
	Error string // of failed and abandoned
	Note  string // of a delegation that is tried again: why
}

// Values of Moved.To.
const (
	MovedRunning   = "running" // its run is queued: from then on nobody but the runner decides when it begins
	MovedCompleted = "completed"
	MovedFailed    = "failed"
	MovedAbandoned = "abandoned" // somebody has ended it, or nobody knows what became of it
)

// movedBy is how a step moves what a sub-agent does for a task.
func movedBy(s *decide.Step) Moved {
	if !s.Over {
		return Moved{To: MovedRunning}
	}
	m := Moved{To: MovedCompleted, Text: s.Findings}
	for _, e := range s.Events {
		job, is := e.Data.(coordination.A2AJob)
		if !is || !endsJob(e.Type) {
			continue
		}
		switch why := cmp.Or(job.Error, job.Reason, job.Outcome); e.Type {
		case coordination.TypeA2AJobFailed:
			m = Moved{To: MovedFailed, Error: why}
		case coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
			m = Moved{To: MovedAbandoned, Error: why}
		}
	}
	return m
}

// endsJob reports whether an event of a job is its end.
func endsJob(typ string) bool {
	switch typ {
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		return true
	}
	return false
}

// delegated says what is appended for the task of a sub-agent that is asked for, nil if there is none.
func (c *Coordinator) delegated(tx eventstore.Tx, f *decide.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	if c.o.Tasks == nil || f.TaskID == "" {
		return nil, nil
	}
	return c.o.Tasks.Delegated(tx, f, m, now)
}

// settled says what the end of a flow is for the task that it was for, nil if it was for none.
func (c *Coordinator) settled(tx eventstore.Tx, f *decide.Flow, s *decide.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	if c.o.Tasks == nil || !s.Over || f.Kind != string(decide.Spawn) || f.TaskID == "" || f.DelegationID == "" && !f.Redacted {
		return nil, nil
	}
	return c.o.Tasks.Moved(tx, f, movedBy(s), now)
}

// beforeTheEnd puts what a task is told among the events of a flow: before those that end the flow, for after them nothing more is expected in
// the work session; else behind all.
func beforeTheEnd(appends, told []eventstore.StreamAppend) []eventstore.StreamAppend {
	if len(told) == 0 {
		return appends
	}
	for i, a := range appends {
		at := slices.IndexFunc(a.Events, func(e eventstore.NewEvent) bool { return e.Type == coordination.TypeA2AComplete || endsJob(e.Type) })
		if at < 0 {
			continue
		}
		all := slices.Clone(appends[:i])
		if at > 0 {
			all = append(all, eventstore.StreamAppend{Stream: a.Stream, Expect: a.Expect, Events: a.Events[:at:at]})
			a.Expect = eventstore.Any()
		}
		a.Events = a.Events[at:]
		return append(append(append(all, told...), a), appends[i+1:]...)
	}
	return append(slices.Clone(appends), told...)
}

// unwilling is what the task says against a sub-agent, nil if err is something else.
func unwilling(err error) *refusal {
	if why := (*task.Refusal)(nil); errors.As(err, &why) {
		return &refusal{statusError, why.Reason, why.Text, why.Mend}
	}
	return nil
}
