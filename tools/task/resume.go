package task

import (
	"context"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) resumeTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_resume", Group: tool.GroupTasks, Label: "Resume a task",
			Description: "Go on with a task that was blocked or interrupted: one of yours, or one of another agent that waits for you.",
			Schema: tools.Object("",
				`"task_id":{"type":"string","maxLength":200,"description":"The task, by its id; the first of yours that is blocked if absent."}`,
				`"taskId":{"type":"string","maxLength":200,"description":"The same as task_id."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.resume(ctx, call, &args)
		},
	}
}

type resumeAnswer struct {
	told
	AgentID   string `json:"agentId"` // whose task it is
	Resumed   bool   `json:"resumed"`
	ResumedAt string `json:"resumedAt"`
}

func (d *Desk) resume(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	c := d.asks(call, "task_resume", args.Version)
	c.find = c.findTask(id, firstBlocked, func(t *task.Task) bool { return slices.Contains(t.Blocked.By, call.AgentID) })
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		renewed, err := d.Renewed(tx, t, c.asked.Now)
		if err != nil {
			return nil, err
		}
		return task.Resume(t, c.asked, renewed)
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(resumeAnswer{told: done.told(), AgentID: done.Agent, Resumed: true, ResumedAt: iso(done.ActiveAt)})
}
