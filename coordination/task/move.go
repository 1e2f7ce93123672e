package task

import "github.com/pronto-lab/openclawd/coordination"

// MoveAsk says how an attempt at a delegation has come on.
type MoveAsk struct {
	To       string // running, completed, failed, abandoned
	Snapshot string // of completed: what came of it
	Error    string // of failed and abandoned
}

// Move decides on delegation.running, .completed, .failed or .abandoned. What the state of the delegation does not allow is nothing: an
// attempt that ends before it was seen to run has delegation.running before it. One that runs and is abandoned has failed. t may be over.
func Move(t *Task, d *Delegation, a MoveAsk) ([]Event, error) {
	if d.Status != spawned && d.Status != running {
		return nil, nil // no attempt is under way
	}
	to := a.To
	if d.Status == running && to == abandoned {
		to = failed
	}
	data := d.data(t.context(Asked{}), to)
	data.RunID = d.RunID
	switch to {
	case running:
	case completed:
		data.Snapshot = excerpt(a.Snapshot, SnapshotLength)
	case failed, abandoned:
		data.Error = excerpt(a.Error, errorLength)
	}
	var events []Event
	from := d.Status
	if from == spawned && to == completed {
		began := d.data(t.context(Asked{}), running)
		began.RunID = d.RunID
		events, from = append(events, Event{coordination.TypeDelegationRunning, d.Agent, began}), running
	}
	if !moves(from, to) {
		return nil, nil
	}
	return append(events, Event{delegationType(to), d.Agent, data}), nil
}

// delegationType is the type of the event that brings a delegation to a status.
func delegationType(status string) string { return "delegation." + status }
