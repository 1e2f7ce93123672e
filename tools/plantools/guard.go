package plantools

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

// Guard implements tools.Options.Guard: with tools.planGate.enabled, an agent may call the tools named there only as an approved plan of
// its current task says. That is the task of the run, if it is the agent's own, else the task in focus; for a sub-agent it is the task
// that its owner started it for, with the owner's plans. Plans count while the task is in progress.
func (s *Service) Guard(ctx context.Context, call *tools.Call, spec *tool.Spec) error {
	gate := &call.Config.Tools.PlanGate
	if !gate.Enabled || isOwn(spec.Name) || !tool.Restricts(gate.Tools, spec, call.Args) {
		return nil
	}
	var closed error
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		closed, err = isClosed(projections.Reading(ctx, tx), call, spec)
		return err
	})
	if err != nil || closed == nil {
		return err
	}
	return closed
}

func isOwn(name string) bool {
	return slices.Contains([]string{nameSubmit, nameApprove, nameReject, nameStatus}, name)
}

// isClosed returns why a call may not use a tool; nil if it may. A plan with exec may also give input to what exec has started.
func isClosed(tx eventstore.Tx, call *tools.Call, spec *tool.Spec) (closed, err error) {
	t, err := atWork(tx, call)
	if err != nil {
		return nil, err
	}
	var gate plan.Gate
	if t != nil && t.Status == coordination.StateInProgress {
		plans, err := plans.Of(tx, t.Agent, t.ID)
		if err != nil {
			return nil, err
		}
		gate = plan.NewGate(plans, t.Agent, t.ID)
	}
	refusal := (*plan.Refusal)(nil)
	if tool.GivesInput(spec, call.Args) && gate.Opens(tool.NameExec) || !errors.As(gate.Check(spec.Name), &refusal) {
		return nil, nil
	}
	told := &tool.Error{Code: tool.CodePlanRequired, Text: refusal.Text, Hint: refusal.HintText}
	switch {
	case call.Session.Kind == coordination.KeySubagent:
		told.Hint = "leave what takes this tool to the agent that started you, and say so: it needs an approved plan for its task that asks for the tool"
	case t != nil && t.Status != coordination.StateInProgress:
		told.Text += ", and task " + t.ID + " is " + t.Status
		told.Hint = "have the task go on before you call it: task_status shows what it waits for"
	case t == nil:
		told.Hint = "begin a task with task_start, and submit a plan for it with plan_submit that has the tool in tools_requested"
	}
	return told, nil
}

// atWork returns the open task that a call is made for, of the agent or of the sub-agent's owner; nil for none.
func atWork(tx eventstore.Tx, call *tools.Call) (*task.Task, error) {
	if call.TaskID != "" {
		t, found, err := tasks.Load(tx, call.TaskID)
		if err != nil {
			return nil, err
		}
		if found && !t.Terminal() {
			if call.Session.Kind == coordination.KeySubagent {
				return delegated(tx, call, t)
			}
			if t.Agent == call.AgentID {
				return t, nil
			}
		}
	}
	if call.Session.Kind == coordination.KeySubagent {
		return nil, nil
	}
	id, err := tasks.Active(tx, call.AgentID)
	if id == "" || err != nil {
		return nil, err
	}
	t, _, err := tasks.Load(tx, id)
	return t, err
}

// delegated returns the task of a sub-agent while its delegation is running, else nil.
func delegated(tx eventstore.Tx, call *tools.Call, t *task.Task) (*task.Task, error) {
	all, err := tasks.DelegationsOf(tx, t.ID)
	if err != nil || !slices.ContainsFunc(all, func(x task.Delegation) bool {
		return x.ChildKey == call.SessionKey && x.From == t.Agent && x.EndedAt == 0
	}) {
		return nil, err
	}
	return t, nil
}
