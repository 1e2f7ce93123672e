package tasktools

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) completeTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_complete", Group: tool.GroupTasks, Label: "Complete a task",
			Description: "Complete one of your tasks that is done. Refused while any step is neither done nor skipped. Summarize the result for " +
				"the task history. First verify the work of sub-agents for the task with task_verify.",
			Schema: tools.Object("", activeIDProperties,
				`"summary":{"type":"string","description":"Summary of the result."}`,
				`"force_complete":{"enum":["true","false",true,false],"description":"true: complete the task although steps remain. This is recorded."}`,
				versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[completeArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.complete(ctx, call, &args)
		},
	}
}

type completeArgs struct {
	target
	Summary string          `json:"summary"`
	Force   json.RawMessage `json:"force_complete"`
}

// force is the argument, given as a boolean or a text.
func (a *completeArgs) force() bool { return string(a.Force) == `true` || string(a.Force) == `"true"` }

type completeAnswer struct {
	endAnswer
	CompletedAt    string   `json:"completedAt"`
	Forced         bool     `json:"forced,omitempty"`
	RemainingSteps []string `json:"remainingSteps,omitempty"` // of a forced completion
	Warnings       []string `json:"warnings,omitempty"`
}

// endAnswer is the common part of the answers to the end of a task.
type endAnswer struct {
	taskAnswer
	Archived       bool   `json:"archived"`
	ArchivedTo     string `json:"archivedTo"` // in the agent's workspace
	RemainingTasks int    `json:"remainingTasks"`
	NextTaskID     string `json:"nextTaskId,omitempty"` // the agent's current task
}

// endAnswer returns the answer to the end of a task. The agent's next task is read after it.
func (s *Service) endAnswer(ctx context.Context, done *changeResult) (answer endAnswer, err error) {
	answer = endAnswer{taskAnswer: done.answer(), Archived: true, ArchivedTo: historyOf(done.EndedAt), RemainingTasks: done.Open}
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		answer.NextTaskID, err = tasks.Active(projections.Reading(ctx, tx), done.Agent)
		return err
	})
	return answer, err
}

func (s *Service) complete(ctx context.Context, call *tools.Call, args *completeArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	var unverified []task.Delegation
	c := s.asks(call, "task_complete", args.Version)
	c.counts = true
	c.find = c.findTask(id, focused, nil)
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		all, err := tasks.DelegationsOf(tx, t.ID)
		if err != nil {
			return nil, err
		}
		unverified = unsettled(all)
		return task.Complete(t, task.CompleteAsk{Asked: c.asked, Summary: args.Summary, Force: args.force(), Unverified: unverified})
	}
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := completeAnswer{CompletedAt: coordination.FormatTime(done.EndedAt), Warnings: warningsOf(unverified)}
	for _, e := range done.Events {
		if e.Type == coordination.TypeTaskForceCompleted {
			answer.Forced = true
			if state, is := e.Data.(coordination.TaskState); is {
				answer.RemainingSteps = state.RemainingSteps
			}
		}
	}
	if answer.endAnswer, err = s.endAnswer(ctx, done); err != nil {
		return tool.Output{}, err
	}
	return tools.Answer(answer)
}

// unsettled returns the delegations that are still running or not verified.
func unsettled(all []task.Delegation) (list []task.Delegation) {
	for i := range all {
		switch all[i].Status {
		case "completed", "spawned", "running", "retrying":
			list = append(list, all[i])
		}
	}
	return list
}

// maxWarnings bounds the delegations that an answer lists individually.
const maxWarnings = 20

func warningsOf(list []task.Delegation) (warnings []string) {
	for i := range list {
		if i == maxWarnings {
			return append(warnings, fmt.Sprintf("and %d further delegations", len(list)-i))
		}
		one := &list[i]
		name := one.ID
		if one.Label != "" {
			name += " (" + one.Label + ")"
		}
		if one.Status == "completed" {
			warnings = append(warnings, fmt.Sprintf("delegation %s is completed, but not verified", name))
		} else {
			warnings = append(warnings, fmt.Sprintf("delegation %s is still %s; its result will still come", name, one.Status))
		}
	}
	return warnings
}
