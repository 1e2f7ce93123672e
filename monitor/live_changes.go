package monitor

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// ApprovalNews is a request for approval, or its end.
type ApprovalNews struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`  // task, plan
	State string `json:"state"` // pending, approved, rejected
	Seq   int64  `json:"seq"`   // of the event
}

// WorkNews is a change of queued work.
type WorkNews struct {
	EffectID string `json:"effectId"`
	State    string `json:"state"` // set by the event: waiting, leased, completed, cancelled, dead
	Seq      int64  `json:"seq"`
}

// RunNews is a change of a run.
type RunNews struct {
	RunID string    `json:"runId"`
	State run.State `json:"state"` // set by the event
	Seq   int64     `json:"seq"`
}

// changeNews formats what an event changes of work and of runs.
func changeNews(e *eventstore.Event) []push.Message {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	work, state := workState(e.Type), runState(e.Type)
	if work == "" && state == "" {
		return nil
	}
	var about struct {
		RunID    string `json:"runId"`
		EffectID string `json:"effectId"`
	}
	if e.Redacted() || json.Unmarshal(e.Data, &about) != nil {
		return nil
	}
	switch {
	case work != "" && about.EffectID != "":
		return []push.Message{{Type: "work_update", AgentID: e.AgentID, Data: WorkNews{about.EffectID, work, e.Seq}}}
	case state != "" && about.RunID != "":
		return []push.Message{{Type: "run_update", AgentID: e.AgentID, Data: RunNews{about.RunID, state, e.Seq}}}
	}
	return nil
}

// workState is the state of work after an event of a type; "" for other types.
func workState(typ string) string {
	switch typ {
	case coordination.TypeWorkScheduled, coordination.TypeWorkReleased, coordination.TypeWorkLeaseExpired, coordination.TypeWorkResent:
		return "waiting"
	case coordination.TypeWorkLeased:
		return "leased"
	case coordination.TypeWorkCompleted:
		return "completed"
	case coordination.TypeWorkCancelled:
		return "cancelled"
	case coordination.TypeWorkDead:
		return "dead"
	}
	return ""
}

// runState is the state of a run after an event of a type; "" for other types.
func runState(typ string) run.State {
	switch typ {
	case coordination.TypeRunQueued:
		return run.Queued
	case coordination.TypeRunStarted:
		return run.Running
	case coordination.TypeRunEnded:
		return run.OK
	case coordination.TypeRunFailed:
		return run.Failed
	case coordination.TypeRunAborted:
		return run.Aborted
	case coordination.TypeRunTimedOut:
		return run.TimedOut
	}
	return ""
}

// approvalNews formats requests for approval and decisions about them.
func (v *view) approvalNews(ctx context.Context, seqs []int64, events map[int64]*eventstore.Event) (news []push.Message, err error) {
	if v.OwnTasks == nil {
		return nil, nil
	}
	add := func(e *eventstore.Event, kind, id, task, state string) {
		news = append(news, push.Message{Type: "approval_update", AgentID: e.AgentID, TaskID: task, Data: ApprovalNews{id, kind, state, e.Seq}})
	}
	for _, seq := range seqs {
		e := events[seq]
		if e == nil || e.Actor == eventstore.ActorImport {
			continue
		}
		for _, m := range planNews(e) {
			told := m.Data.(PlanNews)
			add(e, approval.OfPlan, told.PlanID, "", told.Status)
		}
		id := v.record(e).TaskID
		if id == "" {
			continue
		}
		switch e.Type {
		case coordination.TypeTaskApproved:
			add(e, approval.OfTask, id, id, plan.Approved)
		case coordination.TypeTaskCancelled:
			if decided(e) {
				add(e, approval.OfTask, id, id, plan.Rejected)
			}
		case coordination.TypeTaskStarted:
			row, found, err := tasks.Brief(ctx, v.tx, id)
			if err != nil {
				return nil, err
			}
			if found && row.Status == coordination.StatePendingApproval {
				add(e, approval.OfTask, id, id, plan.Pending)
			}
		}
	}
	return news, nil
}

// decided reports whether a cancelled task was rejected by those who may approve it.
func decided(e *eventstore.Event) bool {
	var data struct {
		DecidedBy string `json:"decidedBy"`
	}
	return !e.Redacted() && json.Unmarshal(e.Data, &data) == nil && data.DecidedBy != ""
}
