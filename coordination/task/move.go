package task

import "github.com/pronto-lab/openclawd/coordination"

// MoveAsk reports progress of an attempt at a delegation.
type MoveAsk struct {
	To       string // running, completed, failed, abandoned
	Snapshot string // result, of completed
	Error    string // of failed and abandoned
}

// Move decides on delegation.running, .completed, .failed or .abandoned. A move that the delegation's state does not allow has no
// events; an attempt that ends before it was seen running gets delegation.running first, and abandoning a running one is a failure. t
// may be over.
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

// delegationType returns the type of the event that leads to a status.
func delegationType(status string) string { return "delegation." + status }
