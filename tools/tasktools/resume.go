package tasktools

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) resumeTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_resume", Group: tool.GroupTasks, Label: "Resume a task",
			Description: "Resume a blocked or interrupted task: one of yours, or another agent's task that waits for you.",
			Schema: tools.Object("",
				`"task_id":{"type":"string","maxLength":200,"description":"Id of the task. Default: your first blocked task."}`,
				`"taskId":{"type":"string","maxLength":200,"description":"Alias of task_id."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.resume(ctx, call, &args)
		},
	}
}

type resumeAnswer struct {
	taskAnswer
	AgentID   string `json:"agentId"` // owner of the task
	Resumed   bool   `json:"resumed"`
	ResumedAt string `json:"resumedAt"`
}

func (s *Service) resume(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := s.asks(call, "task_resume", args.Version)
	c.find = c.findTask(id, firstBlocked, func(t *task.Task) bool { return slices.Contains(t.Blocked.By, call.AgentID) })
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		renewed, err := s.Renewed(tx, t, c.asked.Now)
		if err != nil {
			return nil, err
		}
		return task.Resume(t, c.asked, renewed)
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(resumeAnswer{taskAnswer: done.answer(), AgentID: done.Agent, Resumed: true, ResumedAt: coordination.FormatTime(done.ActiveAt)})
}
