package task

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds an event of the task's stream and reports whether it changed the task, be it the version alone; events of delegations, and
// those that the task's state does not allow, change nothing. agent is the event's agent, version the stream's version with the event.
// Redacted data (nil) has the effect of the type alone. An event that cannot be read is an error and changes nothing.
func (t *Task) Apply(typ, agent string, data []byte, seq, version, ts int64) (bool, error) {
	next := *t
	means, err := next.fold(typ, agent, data, seq, ts)
	if err != nil {
		return false, fmt.Errorf("fold %s into task %s: %w", typ, t.ID, err)
	}
	if !means {
		return false, nil
	}
	next.Version, next.Last, next.ActiveAt = version, seq, ts
	*t = next
	return true, nil
}

func (t *Task) fold(typ, agent string, data []byte, seq, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeTaskStarted:
		d, err := read[coordination.TaskStarted](data)
		return err == nil && t.start(d, agent, seq, ts), err
	case coordination.TypeTaskBacklogAdded:
		d, err := read[coordination.TaskBacklogAdded](data)
		return err == nil && t.addBacklog(d, agent, seq, ts), err
	case coordination.TypeTaskUpdated:
		d, err := read[coordination.TaskUpdated](data)
		return err == nil && t.update(d, seq), err
	case coordination.TypeTaskBlocked:
		d, err := read[coordination.TaskBlocked](data)
		return err == nil && t.block(d), err
	case coordination.TypeZombieAbandoned:
		d, err := read[coordination.ZombieAbandoned](data)
		return err == nil && t.abandon(d), err
	case coordination.TypeUnblockRequested, coordination.TypeUnblockFailed:
		d, err := read[coordination.Unblock](data)
		return err == nil && t.askUnblock(typ, d, ts), err
	case coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted, coordination.TypeTaskCancelled, coordination.TypeTaskApproved,
		coordination.TypeTaskResumed, coordination.TypeTaskBacklogPicked, coordination.TypeBacklogAutoPicked, coordination.TypeTaskStopGuardBlocked,
		coordination.TypeTaskVerified, coordination.TypeTaskRejected, coordination.TypeTaskRetrying:
		d, err := read[coordination.TaskState](data)
		return err == nil && t.change(typ, d, seq, ts), err
	}
	return false, nil
}

// read decodes event data; redacted data (nil) decodes to the zero value.
func read[T any](data []byte) (d T, err error) {
	if len(data) > 0 {
		err = json.Unmarshal(data, &d)
	}
	return d, err
}

// join moves the task to the event's work session, if it names one.
func (t *Task) join(c coordination.Context) {
	if c.WorkSessionID != "" && c.WorkSessionID != t.WorkSessionID {
		t.PreviousWorkSessionID = cmp.Or(c.PreviousWorkSessionID, t.WorkSessionID)
		t.WorkSessionID = c.WorkSessionID
	}
}

// addProgress adds a line of progress, unless it is blank.
func (t *Task) addProgress(progress string) {
	if progress != "" {
		t.ProgressCount++
		t.Progress = progress
	}
}

// open reports whether the task has started and is not over.
func (t *Task) open() bool { return t.Status != "" && !t.Terminal() }
