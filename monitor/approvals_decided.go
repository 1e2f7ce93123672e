package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

const (
	decidedPage = 200   // events read at a time
	mostDecided = 2_000 // events looked at: cancelled tasks are most of them, and few of those were rejected
)

// decidedApprovals lists what was decided, the newest first.
func (v *view) decidedApprovals(ctx context.Context, q pending.Query) ([]approval.Approval, error) {
	list := []approval.Approval{}
	selected, err := index.Select(ctx, v.tx, index.Filter{Internal: true, Types: []string{coordination.TypeTaskApproved, coordination.TypeTaskCancelled,
		coordination.TypePlanApproved, coordination.TypePlanRejected, coordination.TypeToolApprovalDecided}})
	if err != nil {
		return nil, err
	}
	before := int64(math.MaxInt64)
	for seen := 0; seen < mostDecided && len(list) < q.Limit; {
		seqs, err := selected.Newest(ctx, v.tx, before, decidedPage)
		if err != nil || len(seqs) == 0 {
			return list, err
		}
		events, err := v.Store.EventsIn(ctx, v.tx, seqs)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(events, func(a, b eventstore.Event) int { return cmp.Compare(b.Seq, a.Seq) })
		for i := range events {
			before = min(before, events[i].Seq)
			a, err := v.decidedBy(ctx, projections.Current(&events[i]))
			if err != nil {
				return nil, err
			}
			if a != nil && q.Wants(a.Kind) && (q.Agent == "" || strings.EqualFold(a.AgentID, q.Agent)) && len(list) < q.Limit {
				list = append(list, *a)
			}
		}
		if seen += len(seqs); len(seqs) < decidedPage {
			break
		}
	}
	return list, nil
}

// decidedBy returns the approval that an event decided, nil if it decided none.
func (v *view) decidedBy(ctx context.Context, e *eventstore.Event) (*approval.Approval, error) {
	switch e.Type {
	case coordination.TypePlanApproved, coordination.TypePlanRejected:
		return v.decidedPlan(ctx, e)
	case coordination.TypeToolApprovalDecided:
		return v.decidedCall(ctx, e)
	}
	var d coordination.TaskState
	if json.Unmarshal(e.Data, &d) != nil || d.TaskID == "" {
		return nil, nil
	}
	decision := &approval.Decision{Status: approval.Approved, By: d.DecidedBy, AtMs: e.TS, Seq: e.Seq}
	if e.Type == coordination.TypeTaskCancelled {
		if !task.IsRejection(d) {
			return nil, nil
		}
		decision.Status, decision.Reason = approval.Rejected, coordination.Mask(d.Reason)
	}
	a := &approval.Approval{ID: d.TaskID, Kind: approval.OfTask, AgentID: e.AgentID, TaskID: d.TaskID, WorkSessionID: d.WorkSessionID, Decision: decision}
	row, found, err := tasks.Brief(ctx, v.tx, d.TaskID)
	if found {
		a.Title, a.Priority = row.Title(), row.Priority
		a.Since(row.Created)
	}
	return a, err
}

func (v *view) decidedPlan(ctx context.Context, e *eventstore.Event) (*approval.Approval, error) {
	var d coordination.Plan
	if json.Unmarshal(e.Data, &d) != nil || d.PlanID == "" {
		return nil, nil
	}
	decision := &approval.Decision{Status: approval.Approved, By: d.DecidedBy, AtMs: e.TS, Seq: e.Seq}
	if e.Type == coordination.TypePlanRejected {
		decision.Status, decision.Reason = approval.Rejected, coordination.Mask(d.Reason)
	}
	a := &approval.Approval{ID: d.PlanID, Kind: approval.OfPlan, AgentID: e.AgentID, TaskID: d.TaskID, WorkSessionID: d.WorkSessionID, Decision: decision}
	p, err := plans.ByID(ctx, v.tx, d.PlanID)
	if p != nil {
		a.Title, a.ToolsRequested, a.StepsCount = p.Title, p.Tools, p.StepsCount
		a.Since(p.Show().SubmittedAt)
	}
	return a, err
}

func (v *view) decidedCall(ctx context.Context, e *eventstore.Event) (*approval.Approval, error) {
	var d coordination.CallApprovalDecided
	if json.Unmarshal(e.Data, &d) != nil || d.ApprovalID == "" {
		return nil, nil
	}
	return pending.Decided(projections.Reading(ctx, v.tx), d.ApprovalID)
}

// lastingPermissions lists permissions for calls that outlast the call that was asked for, oldest first.
func (v *view) lastingPermissions(ctx context.Context, q pending.Query) ([]approval.Approval, error) {
	if !q.Wants(approval.OfCall) || v.OwnTasks == nil {
		return []approval.Approval{}, nil
	}
	return pending.Lasting(projections.Reading(ctx, v.tx), q)
}

// untilExpired has an answer with these approvals kept only until the first of them expires.
func (v *view) untilExpired(list []approval.Approval) {
	for i := range list {
		if call := list[i].Call; call != nil {
			v.until = min(v.until, float64(call.ExpiresAtMs))
		}
	}
}
