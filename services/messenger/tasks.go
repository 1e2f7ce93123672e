package messenger

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Tasks connects messages and delegations with tasks, within the transaction that appends.
type Tasks interface {
	// Focus returns the task that an agent has in focus and its work session; "" for none.
	Focus(tx eventstore.Tx, agentID string) (taskID, workSessionID string, err error)
	// WorkSession returns that of a task; "" for an unknown task.
	WorkSession(tx eventstore.Tx, taskID string) (string, error)
	// Delegated returns what is appended when a sub-agent is started for a task, f.TaskID, and has reached the state of m: running, or
	// failed if its run was refused. f.DelegationID is set for a retry; a new delegation has the id of the flow. A *task.Refusal refuses
	// the sub-agent; other errors are the log's. An unknown or finished task, and one that the asking agent neither owns nor works for,
	// gets no delegation: nothing is appended.
	Delegated(tx eventstore.Tx, f *a2a.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error)
	// Moved returns what is appended when the flow of such a sub-agent ends.
	Moved(tx eventstore.Tx, f *a2a.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error)
}

// Moved is the progress of a sub-agent's flow.
type Moved struct {
	To    string // running, completed, failed, abandoned
	Text  string // if completed: the sub-agent's complete answer
	Error string // if failed or abandoned
	Note  string // reason of a retry
}

// Values of Moved.To.
const (
	MovedRunning   = "running" // its run is queued: from then on only the runner decides when it begins
	MovedCompleted = "completed"
	MovedFailed    = "failed"
	MovedAbandoned = "abandoned" // it was stopped, or its outcome is unknown
)

// movedBy returns how a step moves a sub-agent's delegation.
func movedBy(s *a2a.Step) Moved {
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

func endsJob(typ string) bool {
	switch typ {
	case coordination.TypeA2AJobCompleted, coordination.TypeA2AJobFailed, coordination.TypeA2AJobAbandoned, coordination.TypeA2AJobCancelled:
		return true
	}
	return false
}

// delegated returns what is appended for the task of a new sub-agent, nil without a task.
func (s *Service) delegated(tx eventstore.Tx, f *a2a.Flow, m Moved, now time.Time) ([]eventstore.StreamAppend, error) {
	if s.o.Tasks == nil || f.TaskID == "" {
		return nil, nil
	}
	return s.o.Tasks.Delegated(tx, f, m, now)
}

// settled returns what the end of a flow appends for its task, nil without a task.
func (s *Service) settled(tx eventstore.Tx, f *a2a.Flow, step *a2a.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	if s.o.Tasks == nil || !step.Over || f.Kind != string(a2a.Spawn) || f.TaskID == "" || f.DelegationID == "" && !f.Redacted {
		return nil, nil
	}
	return s.o.Tasks.Moved(tx, f, movedBy(step), now)
}

// insertBeforeEnd inserts the task's events before those that end the flow, after which the work session expects nothing more; else at the
// end.
func insertBeforeEnd(appends, told []eventstore.StreamAppend) []eventstore.StreamAppend {
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

// taskRefusal returns the task's refusal of a sub-agent, nil for another error.
func taskRefusal(err error) *refusal {
	if why := (*task.Refusal)(nil); errors.As(err, &why) {
		return &refusal{StatusError, why.Reason, why.Text, why.HintText}
	}
	return nil
}
