package task

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Apply folds a delegation event and reports whether it changed the delegation; an event that its status does not allow changes nothing.
// Data and errors are as in Task.Apply.
func (d *Delegation) Apply(typ string, data []byte, seq, ts int64) (bool, error) {
	status, ofDelegation := strings.CutPrefix(typ, "delegation.")
	if !ofDelegation {
		return false, nil
	}
	e, err := read[coordination.Delegation](data)
	if err != nil {
		return false, fmt.Errorf("fold %s into delegation %s: %w", typ, d.ID, err)
	}
	if !moves(d.Status, status) {
		return false, nil
	}
	switch status {
	case spawned:
		d.spawned(e, seq, ts)
	case completed:
		d.Snapshot, d.EndedAt = e.Snapshot, ts
	case failed:
		d.Error, d.EndedAt = e.Error, ts
	case verified, rejected:
		d.Note, d.DecidedBy = e.Reason, e.DecidedBy
	case retrying:
		if d.Retries++; e.RetryCount > 0 {
			d.Retries = e.RetryCount
		}
		d.DecidedBy, d.EndedAt = e.DecidedBy, 0
	case abandoned:
		d.Error = cmp.Or(e.Error, d.Error)
		d.Note, d.DecidedBy = cmp.Or(e.Reason, d.Note), cmp.Or(e.DecidedBy, d.DecidedBy)
		if d.EndedAt == 0 {
			d.EndedAt = ts
		}
	}
	d.RunID = cmp.Or(e.RunID, d.RunID)
	d.Status, d.Last = status, seq
	return true, nil
}

// spawned starts an attempt and clears the results of the previous one.
func (d *Delegation) spawned(e coordination.Delegation, seq, ts int64) {
	if d.Status == "" {
		d.ID, d.TaskID, d.Seq, d.CreatedAt = cmp.Or(e.DelegationID, d.ID), cmp.Or(e.TaskID, d.TaskID), seq, ts
		d.Most = DefaultRetries
	}
	d.From, d.Agent = cmp.Or(e.FromAgent, d.From), cmp.Or(e.ToAgent, d.Agent)
	d.Label, d.Work = cmp.Or(e.Label, d.Label), cmp.Or(e.Work, d.Work)
	d.JobID, d.RunID, d.ChildKey = e.JobID, e.RunID, e.ChildKey
	d.Snapshot, d.Error, d.Note, d.DecidedBy, d.EndedAt = "", "", "", "", 0
	d.Retries, d.Most = max(e.RetryCount, d.Retries), cmp.Or(e.MaxRetries, d.Most)
}
