package plantools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) submitTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameSubmit, Group: tool.GroupPlans, Label: "Submit a plan",
			Description: "Submit a plan for one of your tasks: the steps and the tools you need. The plan waits until a lead or a person approves " +
				"or rejects it; you are notified. After approval you may use the requested tools for that task.",
			Schema: tools.Object("title steps", taskIDProperties,
				`"title":{"type":"string","minLength":1,"maxLength":500,"description":"Goal of the plan, in one line."}`,
				`"steps":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","minLength":1},"description":"The steps, in order."}`,
				`"tools_requested":{"type":"array","maxItems":50,"items":{"type":"string","maxLength":64},
					"description":"Tools you need that require an approved plan. Default: none."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[submitArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.submit(ctx, call, &args)
		},
	}
}

type submitArgs struct {
	TaskID string   `json:"task_id"`
	SameID string   `json:"taskId"`
	Title  string   `json:"title"`
	Steps  []string `json:"steps"`
	Tools  []string `json:"tools_requested"`
}

type submitAnswer struct {
	planAnswer
	Title          string   `json:"title"`
	StepsCount     int      `json:"stepsCount"`
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	Message        string   `json:"message,omitempty"` // while it is pending
}

func (s *Service) submit(ctx context.Context, call *tools.Call, args *submitArgs) (tool.Output, error) {
	taskID, err := oneOf("task_id", "taskId", args.TaskID, args.SameID)
	if err != nil {
		return refuse(err, nil)
	}
	newID := s.o.NewPlanID()
	c := s.asks(call, nameSubmit)
	c.find = func(eventstore.Tx) (*plan.Plan, error) { return &plan.Plan{ID: newID}, nil }
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		of, err := taskOf(tx, call, taskID)
		if err != nil {
			return plan.Event{}, err
		}
		pending, err := plans.PendingOf(tx, call.AgentID)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Submit(plan.SubmitAsk{Asked: plan.Asked{By: call.AgentID}, PlanID: p.ID, SessionKey: call.SessionKey, Task: of, Title: args.Title,
			Steps: args.Steps, Tools: args.Tools, Known: gated(call.Config), Pending: pending})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	answer := submitAnswer{planAnswer: done.answer(), Title: done.Title, StepsCount: done.StepsCount, ToolsRequested: done.Tools}
	if done.Status == plan.Pending {
		answer.Message = "The plan waits for a lead, or a person. You are told of the decision; plan_status shows the current state."
	}
	return tools.Answer(answer)
}

// taskOf returns the task of a plan: the named one, else that of the call. An unknown one has no id.
func taskOf(tx eventstore.Tx, call *tools.Call, taskID string) (plan.Task, error) {
	t, err := named(tx, call, taskID)
	if t == nil || err != nil {
		return plan.Task{ID: taskID}, err // no agent's
	}
	workSession := cmp.Or(t.WorkSessionID, call.WorkSessionID)
	if t.WorkSessionID == "" {
		known, err := conversations.WorkSessionOfTask(tx, t.ID)
		if err != nil {
			return plan.Task{}, fmt.Errorf("find the work session of task %s: %w", t.ID, err)
		}
		workSession = cmp.Or(known, workSession)
	}
	return plan.Task{ID: t.ID, Agent: t.Agent, WorkSessionID: workSession, Over: t.Terminal()}, nil
}

// named returns the task with an id, or without one that of the call; nil for none.
func named(tx eventstore.Tx, call *tools.Call, taskID string) (*task.Task, error) {
	if taskID == "" {
		return atWork(tx, call)
	}
	t, _, err := tasks.Load(tx, taskID)
	return t, err
}

// gated returns what plans may request, the tools with a gate: their names, in lower case, and patterns. Which tools a group has is not known
// here, nor which ones an MCP server will offer.
func gated(conf *config.Config) (names []string) {
	for _, name := range conf.Tools.PlanGate.Tools {
		name = strings.ToLower(coordination.TrimJS(name))
		if group, is := strings.CutPrefix(name, "group:"); is {
			name = "*"
			if strings.HasPrefix(group, tool.GroupMCP) {
				name = "*__*"
			}
		}
		if !isOwn(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
