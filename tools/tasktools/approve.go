package tasktools

import (
	"context"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) approveTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_approve", Group: tool.GroupTasks, Label: "Approve a task",
			Description: "Approve a task of another agent that waits for approval. task_list with scope all and status pending_approval lists them. You cannot " +
				"approve your own tasks. If the team has leads, only leads can approve.",
			Schema: tools.Object("", taskIDProperties, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.approve(ctx, call, &args)
		},
	}
}

type approveAnswer struct {
	taskAnswer
	AgentID    string `json:"agentId"` // owner of the task
	Approved   bool   `json:"approved"`
	ApprovedBy string `json:"approvedBy"`
	StartedAt  string `json:"startedAt"`
}

func (s *Service) approve(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.named()
	if err != nil {
		return refuse(err, nil)
	}
	done, err := s.change(ctx, s.approves(s.asks(call, "task_approve", args.Version), id))
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(approveAnswer{taskAnswer: done.answer(), AgentID: done.Agent, Approved: true, ApprovedBy: call.AgentID, StartedAt: coordination.FormatTime(done.ActiveAt)})
}

func (s *Service) approves(c *taskChange, id string) *taskChange {
	c.find = c.findTask(id, nil, anyAgent)
	c.decide = func(tx eventstore.Tx, t *task.Task) (events []task.Event, err error) {
		a := c.approval()
		if a.Renewed, err = s.Renewed(tx, t, c.asked.Now); err != nil {
			return nil, err
		}
		return task.Approve(t, a)
	}
	return c
}

// anyAgent allows tasks of any agent.
func anyAgent(*task.Task) bool { return true }

// approval describes the agent or person that decides about a task.
func (c *taskChange) approval() task.ApproveAsk {
	a := task.ApproveAsk{Asked: c.asked}
	if conf := c.call.Config; conf != nil {
		a.Lead, a.Leads = conf.Lead(c.asked.By), len(conf.Leads()) > 0
	}
	return a
}

// Approve approves a task for a person. Errors are *task.Refusal, or the log's.
func (s *Service) Approve(ctx context.Context, taskID, person string) (*task.Task, error) {
	id, err := (&target{TaskID: taskID}).named()
	if err != nil {
		return nil, err
	}
	return s.decided(ctx, s.approves(s.person(person), id))
}

func (s *Service) person(name string) *taskChange {
	return &taskChange{call: &tools.Call{}, asked: task.Asked{By: coordination.TrimJS(name), Human: true, Now: s.o.Now().UnixMilli()}}
}

func (s *Service) decided(ctx context.Context, c *taskChange) (*task.Task, error) {
	done, err := s.change(ctx, c)
	if err != nil {
		return nil, err
	}
	return &done.Task, nil
}
