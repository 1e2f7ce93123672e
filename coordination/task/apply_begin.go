package task

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination"
)

func (t *Task) start(d coordination.TaskStarted, agent string, seq, ts int64) bool {
	if t.Status != "" {
		return false
	}
	t.begin(d.Context, agent, seq, ts)
	t.Status, t.Priority, t.Source = coordination.StateInProgress, priority(d.Priority), d.Source
	t.Description, t.Background, t.Simple, t.SessionKey = d.Description, d.Background, d.Simple, d.SessionKey
	t.Steps = plan(d.Steps).sorted()
	if d.RequiresApproval {
		t.Status = coordination.StatePendingApproval
	} else {
		t.Focus = seq
	}
	t.addProgress(d.Progress)
	return true
}

func (t *Task) addBacklog(d coordination.TaskBacklogAdded, adder string, seq, ts int64) bool {
	if t.Status != "" {
		return false
	}
	t.begin(d.Context, cmp.Or(d.Assignee, adder), seq, ts)
	t.Status, t.Priority, t.CreatedBy, t.SessionKey = coordination.StateBacklog, priority(d.Priority), cmp.Or(d.CreatedBy, adder), d.SessionKey
	t.Description, t.Background = d.Description, d.Background
	t.Backlog = Backlog{
		Assignee: t.Agent, DependsOn: d.DependsOn, Effort: d.EstimatedEffort, StartDate: d.StartDate, DueDate: d.DueDate,
		MilestoneID: d.MilestoneID, MilestoneItemID: d.MilestoneItemID,
	}
	t.addProgress(d.Progress)
	return true
}

// begin sets the fields that every first event has.
func (t *Task) begin(c coordination.Context, agent string, seq, ts int64) {
	t.ID, t.Agent, t.Seq, t.CreatedAt = cmp.Or(c.TaskID, t.ID), agent, seq, ts
	t.join(c)
}
