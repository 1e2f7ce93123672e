package monitor

import (
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor/push"
)

// ApprovalNews is a request for approval, or its end.
type ApprovalNews struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`  // task, plan, call
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

// changeNews formats what an event changes of approvals, work and runs, for clients with topics.
func (v *view) changeNews(e *eventstore.Event) (news []push.Message) {
	if e.Actor == eventstore.ActorImport {
		return nil
	}
	for _, m := range planNews(e) {
		if told, is := m.Data.(PlanNews); is && v.OwnTasks != nil {
			news = append(news, approvalNews(e, "", ApprovalNews{told.PlanID, approval.OfPlan, told.Status, e.Seq}))
		}
	}
	if told, is := callApproval(e); is && v.OwnTasks != nil {
		return append(news, approvalNews(e, "", told))
	}
	var data struct {
		RunID    string `json:"runId"`
		EffectID string `json:"effectId"`
		TaskID   string `json:"taskId"`
		Progress string `json:"progress"`
		Approval bool   `json:"requiresApproval"`
	}
	if e.Redacted() || json.Unmarshal(e.Data, &data) != nil {
		return news
	}
	work, state := workState(e.Type), runState(e.Type)
	switch {
	case work != "" && data.EffectID != "":
		news = append(news, push.Message{Type: "work_update", AgentID: e.AgentID, Data: WorkNews{data.EffectID, work, e.Seq}})
	case state != "" && data.RunID != "":
		news = append(news, push.Message{Type: "run_update", AgentID: e.AgentID, Data: RunNews{data.RunID, state, e.Seq}})
	case v.OwnTasks != nil && data.TaskID != "":
		if state := taskApproval(e.Type, data.Approval, data.Progress); state != "" {
			news = append(news, approvalNews(e, data.TaskID, ApprovalNews{data.TaskID, approval.OfTask, state, e.Seq}))
		}
	}
	return news
}

func approvalNews(e *eventstore.Event, task string, told ApprovalNews) push.Message {
	return push.Message{Type: "approval_update", AgentID: e.AgentID, TaskID: task, Data: told}
}

// taskApproval is the state of a task's approval after an event of a type; "" if the event does not change it.
func taskApproval(typ string, requires bool, progress string) string {
	switch {
	case typ == coordination.TypeTaskStarted && requires:
		return plan.Pending
	case typ == coordination.TypeTaskApproved:
		return plan.Approved
	case typ == coordination.TypeTaskCancelled && task.IsRejection(coordination.TaskState{Progress: progress}):
		return plan.Rejected
	}
	return ""
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
	case coordination.TypeRunQueued, coordination.TypeRunParked, coordination.TypeRunWoken:
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

// callApproval is what an event changes of the approval of a call; is is false if it changes none.
func callApproval(e *eventstore.Event) (told ApprovalNews, is bool) {
	var d struct{ ApprovalID, Decision string }
	if !strings.HasPrefix(e.Type, "tool.approval_") || e.Redacted() || json.Unmarshal(e.Data, &d) != nil || d.ApprovalID == "" {
		return ApprovalNews{}, false
	}
	told = ApprovalNews{d.ApprovalID, approval.OfCall, approval.Rejected, e.Seq}
	switch {
	case e.Type == coordination.TypeToolApprovalRequested:
		told.State = "pending"
	case d.Decision == permission.Approved, e.Type == coordination.TypeToolApprovalRevoked: // the call of one that is taken back was approved
		told.State = approval.Approved
	}
	return told, true
}
