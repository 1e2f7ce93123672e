package task

import "github.com/pronto-lab/openclawd/coordination"

// Reject decides on task.cancelled for a task that waits for approval, by those who may approve it. The owner receives the reason.
func Reject(t *Task, a ApproveAsk, reason string) ([]Event, error) {
	if err := a.mayDecide(t, "reject"); err != nil {
		return nil, err
	}
	if t.Status != coordination.StatePendingApproval {
		return nil, wrongState(t, "rejected", orOver(t, "only a task that waits for approval can be rejected"))
	}
	reason, err := needed("reason", reason, MaxText, "give a reason for the owner of the task")
	if err != nil {
		return nil, err
	}
	return []Event{t.happens(coordination.TypeTaskCancelled, coordination.TaskState{
		Context: t.context(a.Asked), Reason: reason, DecidedBy: a.decider(t), Progress: after(rejectedBy+coordination.Mask(a.By), reason),
	})}, nil
}
