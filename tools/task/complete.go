package task

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
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) completeTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_complete", Group: tool.GroupTasks, Label: "Complete a task",
			Description: "End a task of yours that is done. It is refused while steps are neither done nor skipped. Say in the summary what came of it: it is " +
				"kept in the history. Verify with task_verify before what sub-agents have done for the task.",
			Schema: tools.Object("", activeIDProperties,
				`"summary":{"type":"string","description":"What came of it."}`,
				`"force_complete":{"enum":["true","false",true,false],"description":"true: also if steps remain, which is recorded."}`,
				versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[completeArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.complete(ctx, call, &args)
		},
	}
}

type completeArgs struct {
	target
	Summary string          `json:"summary"`
	Force   json.RawMessage `json:"force_complete"`
}

// force is the argument as a flag or as a text.
func (a *completeArgs) force() bool { return string(a.Force) == `true` || string(a.Force) == `"true"` }

type completeAnswer struct {
	ended
	CompletedAt    string   `json:"completedAt"`
	Forced         bool     `json:"forced,omitempty"`
	RemainingSteps []string `json:"remainingSteps,omitempty"` // of one that was forced
	Warnings       []string `json:"warnings,omitempty"`
}

// ended is what the answers to the end of a task say.
type ended struct {
	told
	Archived       bool   `json:"archived"`
	ArchivedTo     string `json:"archivedTo"` // in the agent's workspace
	RemainingTasks int    `json:"remainingTasks"`
	NextTaskID     string `json:"nextTaskId,omitempty"` // what the agent is at now
}

// ended is the end of a task. What the agent turns to now is read after it.
func (d *Desk) ended(ctx context.Context, done *changed) (answer ended, err error) {
	answer = ended{told: done.told(), Archived: true, ArchivedTo: historyOf(done.EndedAt), RemainingTasks: done.Open}
	err = d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		answer.NextTaskID, err = projection.Active(projections.Reading(ctx, tx), done.Agent)
		return err
	})
	return answer, err
}

func (d *Desk) complete(ctx context.Context, call *tools.Call, args *completeArgs) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	var unverified []task.Delegation
	c := d.asks(call, "task_complete", args.Version)
	c.counts = true
	c.find = c.findTask(id, focused, nil)
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		all, err := projection.DelegationsOf(tx, t.ID)
		if err != nil {
			return nil, err
		}
		unverified = unsettled(all)
		return task.Complete(t, task.CompleteAsk{Asked: c.asked, Summary: args.Summary, Force: args.force(), Unverified: unverified})
	}
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	answer := completeAnswer{CompletedAt: iso(done.EndedAt), Warnings: warningsOf(unverified)}
	for _, e := range done.Events {
		if e.Type == coordination.TypeTaskForceCompleted {
			answer.Forced = true
			if state, is := e.Data.(coordination.TaskState); is {
				answer.RemainingSteps = state.RemainingSteps
			}
		}
	}
	if answer.ended, err = d.ended(ctx, done); err != nil {
		return tool.Output{}, err
	}
	return tools.Answer(answer)
}

// unsettled are the delegations that nobody has judged: what came of them was not looked at, or they are still under way.
func unsettled(all []task.Delegation) (list []task.Delegation) {
	for i := range all {
		switch all[i].Status {
		case "completed", "spawned", "running", "retrying":
			list = append(list, all[i])
		}
	}
	return list
}

// maxWarnings is how many delegations an answer warns of one by one.
const maxWarnings = 20

// warningsOf are warnings of delegations that nobody has judged.
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
			warnings = append(warnings, fmt.Sprintf("delegation %s is completed, but nobody has verified it", name))
		} else {
			warnings = append(warnings, fmt.Sprintf("delegation %s is still %s; its result will come all the same", name, one.Status))
		}
	}
	return warnings
}
