package tasktools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) rejectTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_reject", Group: tool.GroupTasks, Label: "Reject a task",
			Description: "Reject a task of another agent that waits for approval. The task is cancelled, and its agent is notified of the reason. " +
				"Agents that may approve a task may also reject it: see task_approve.",
			Schema: tools.Object("reason", taskIDProperties,
				`"reason":{"type":"string","minLength":1,"description":"Why, and what would be approved instead."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[rejectArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.reject(ctx, call, &args)
		},
	}
}

type rejectArgs struct {
	target
	Reason string `json:"reason"`
}

type rejectAnswer struct {
	taskAnswer
	AgentID    string `json:"agentId"` // owner of the task
	Rejected   bool   `json:"rejected"`
	RejectedBy string `json:"rejectedBy"`
	RejectedAt string `json:"rejectedAt"`
	Reason     string `json:"reason"`
}

func (s *Service) reject(ctx context.Context, call *tools.Call, args *rejectArgs) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	done, err := s.change(ctx, rejects(s.asks(call, "task_reject", args.Version), id, args.Reason))
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(rejectAnswer{taskAnswer: done.answer(), AgentID: done.Agent, Rejected: true, RejectedBy: call.AgentID, RejectedAt: coordination.FormatTime(done.EndedAt),
		Reason: done.Outcome.Reason})
}

func rejects(c *taskChange, id, reason string) *taskChange {
	c.find = c.findTask(id, nil, anyAgent)
	c.decide = func(_ eventstore.Tx, t *task.Task) ([]task.Event, error) { return task.Reject(t, c.approval(), reason) }
	return c
}

// Reject rejects a task for a person. Errors are *task.Refusal, or the log's.
func (s *Service) Reject(ctx context.Context, taskID, person, reason string) (*task.Task, error) {
	id, err := (&target{TaskID: taskID}).named()
	if err != nil {
		return nil, err
	}
	return s.decided(ctx, rejects(s.person(person), id, reason))
}
