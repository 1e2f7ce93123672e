package plan

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversation"
	projection "github.com/pronto-lab/openclawd/projections/plan"
	tasks "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) submitTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: nameSubmit, Group: tool.GroupPlans, Label: "Submit a plan",
			Description: "Say what you mean to do for a task of yours, in which steps, and which tools you need for it. The plan waits until a lead, or a person, " +
				"approves or rejects it; you are told. Once it is approved, the tools that it asks for are open to you for that task.",
			Schema: tools.Object("title steps", taskIDProperties,
				`"title":{"type":"string","minLength":1,"maxLength":500,"description":"What the plan is to achieve, in one line."}`,
				`"steps":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","minLength":1},"description":"What is to be done, in order."}`,
				`"tools_requested":{"type":"array","maxItems":50,"items":{"type":"string","maxLength":64},
					"description":"Names of the tools that its approval is to open, of those that need an approved plan; none if absent."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[submitArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.submit(ctx, call, &args)
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
	told
	Title          string   `json:"title"`
	StepsCount     int      `json:"stepsCount"`
	ToolsRequested []string `json:"toolsRequested,omitempty"`
	Message        string   `json:"message,omitempty"` // while it is pending
}

func (d *Desk) submit(ctx context.Context, call *tools.Call, args *submitArgs) (tool.Output, error) {
	taskID, err := oneOf("task_id", "taskId", args.TaskID, args.SameID)
	if err != nil {
		return refuse(err, nil)
	}
	newID := d.o.NewPlanID()
	c := d.asks(call, nameSubmit)
	c.find = func(eventstore.Tx) (*plan.Plan, error) { return &plan.Plan{ID: newID}, nil }
	c.decide = func(tx eventstore.Tx, p *plan.Plan) (plan.Event, error) {
		of, err := taskOf(tx, call, taskID)
		if err != nil {
			return plan.Event{}, err
		}
		pending, err := projection.PendingOf(tx, call.AgentID)
		if err != nil {
			return plan.Event{}, err
		}
		return plan.Submit(plan.SubmitAsk{Asked: plan.Asked{By: call.AgentID}, PlanID: p.ID, SessionKey: call.SessionKey, Task: of, Title: args.Title,
			Steps: args.Steps, Tools: args.Tools, Known: gated(call.Config), Pending: pending})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, nil)
	}
	answer := submitAnswer{told: done.told(), Title: done.Title, StepsCount: done.StepsCount, ToolsRequested: done.Tools}
	if done.Status == plan.Pending {
		answer.Message = "The plan waits for a lead, or a person. You are told what is decided; plan_status shows how it stands."
	}
	return tools.Answer(answer)
}

// taskOf is the task that a plan is for: the one that is named, else the one that the call is made for. One that there is not has no id.
func taskOf(tx eventstore.Tx, call *tools.Call, taskID string) (plan.Task, error) {
	t, err := named(tx, call, taskID)
	if t == nil || err != nil {
		return plan.Task{ID: taskID}, err // nobody's
	}
	workSession := cmp.Or(t.WorkSessionID, call.WorkSessionID)
	if t.WorkSessionID == "" {
		known, err := conversation.WorkSessionOfTask(tx, t.ID)
		if err != nil {
			return plan.Task{}, fmt.Errorf("find the work session of task %s: %w", t.ID, err)
		}
		workSession = cmp.Or(known, workSession)
	}
	return plan.Task{ID: t.ID, Agent: t.Agent, WorkSessionID: workSession, Over: t.Terminal()}, nil
}

// named is the task of an id, or the one that the call is made for where none is named; nil is none.
func named(tx eventstore.Tx, call *tools.Call, taskID string) (*task.Task, error) {
	if taskID == "" {
		return atWork(tx, call)
	}
	t, _, err := tasks.Load(tx, taskID)
	return t, err
}

// gated are the tools that plans may ask for: those that have a gate, lower case.
func gated(conf *config.Config) (names []string) {
	for _, name := range conf.Tools.PlanGate.Tools {
		if name = strings.ToLower(coordination.TrimJS(name)); !isOwn(name) {
			names = append(names, name)
		}
	}
	return names
}
