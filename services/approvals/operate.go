package approvals

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Operator changes tasks. Errors are *task.Refusal, or the log's.
type Operator interface {
	Cancel(ctx context.Context, taskID, person, reason string) (*task.Operated, error)
	Unblock(ctx context.Context, taskID, person, note string) (*task.Operated, error)
	Prioritise(ctx context.Context, taskID, person, priority string) (*task.Operated, error)
	Reassign(ctx context.Context, taskID, person, to string, known []string) (*task.Operated, error)
}

// CancelTask cancels an open task. A task that waits for approval is rejected, and needs a reason. A person without a name is
// DefaultPerson. Errors of this and of the methods below are *approval.Refusal, or the log's.
func (s *Service) CancelTask(ctx context.Context, taskID, person, reason string) (approval.Operated, error) {
	return s.operate(taskID, person, func(id, person string) (*task.Operated, error) { return s.Operator.Cancel(ctx, id, person, reason) })
}

// UnblockTask resumes a blocked or interrupted task; its owner is told the note, which may be "".
func (s *Service) UnblockTask(ctx context.Context, taskID, person, note string) (approval.Operated, error) {
	return s.operate(taskID, person, func(id, person string) (*task.Operated, error) { return s.Operator.Unblock(ctx, id, person, note) })
}

// PrioritiseTask changes the priority of an open task.
func (s *Service) PrioritiseTask(ctx context.Context, taskID, person, priority string) (approval.Operated, error) {
	return s.operate(taskID, person, func(id, person string) (*task.Operated, error) {
		return s.Operator.Prioritise(ctx, id, person, priority)
	})
}

// ReassignTask gives a task to another agent: it is cancelled, and that agent has a new one in its backlog.
func (s *Service) ReassignTask(ctx context.Context, taskID, person, to string) (approval.Operated, error) {
	return s.operate(taskID, person, func(id, person string) (*task.Operated, error) {
		return s.Operator.Reassign(ctx, id, person, to, s.Config().Workers())
	})
}

func (s *Service) operate(id, person string, change func(id, person string) (*task.Operated, error)) (approval.Operated, error) {
	id = coordination.TrimJS(id)
	if id == "" {
		return approval.Operated{}, &approval.Refusal{Reason: CodeInvalid, Field: "id", Text: "id is missing or blank", HintText: hintTasks}
	}
	person, err := s.nameOf(person)
	if err != nil {
		return approval.Operated{}, err
	}
	done, err := change(id, person)
	if r, is := errors.AsType[*task.Refusal](err); is {
		return approval.Operated{}, operatorRefusal(r)
	}
	if err != nil {
		return approval.Operated{}, err
	}
	return approval.Operated{ID: done.ID, AgentID: done.Agent, Status: done.Status, Priority: done.Priority, By: person, Changed: done.Changed,
		NewTaskID: done.Successor}, nil
}

const hintTasks = "openclawd tasks lists them"

// operatorRefusal words a refusal for people, who have no tools.
func operatorRefusal(r *task.Refusal) *approval.Refusal {
	out := &approval.Refusal{Reason: r.Reason, Field: r.Field, Text: r.Text, HintText: r.HintText, Details: approval.Details{Unknown: r.Reason == task.CodeUnknown}}
	switch r.Reason {
	case task.CodeUnknown:
		out.HintText = hintTasks
	case task.CodeUnknownAgent:
		out.HintText = "openclawd status lists the agents"
	case task.CodeState:
		out.HintText = "openclawd tasks show says what its state is"
	}
	if out.Field == "task_id" {
		out.Field = "id"
	}
	return out
}
