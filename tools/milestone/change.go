package milestone

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/tools"
)

// changed is what the tools answer that change something.
type changed struct {
	Success     bool            `json:"success"`
	MilestoneID string          `json:"milestoneId,omitempty"`
	ItemID      string          `json:"itemId,omitempty"`
	Status      string          `json:"status,omitempty"`
	Assignee    string          `json:"assignee,omitempty"`
	Answer      json.RawMessage `json:"taskHub,omitempty"` // what Task-Hub says of it
	Next        string          `json:"next,omitempty"`    // what is left to do
}

func (d *desk) createTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_create", Group: tool.GroupPlans, Label: "Create a milestone",
			Description: "Create a milestone in Task-Hub. What has to be done for it comes as items: milestone_add_item.",
			Schema: tools.Object("title", titleProperty, descriptionProperty,
				`"due_date":{"type":"string","maxLength":64,"description":"Until when, as 2026-02-28."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[struct {
				Title       string `json:"title"`
				Description string `json:"description"`
				DueDate     string `json:"due_date"`
			}](call)
			if err != nil {
				return tool.Output{}, err
			}
			body, err := d.send(ctx, call, http.MethodPost, nil, newMilestone{told(args.Title), told(args.Description), told(args.DueDate)})
			if err != nil {
				return refuse(ctx, err, asked{})
			}
			return tools.Answer(changed{Success: true, MilestoneID: idOf(body, "milestone"), Answer: bounded(body)})
		},
	}
}

// newMilestone is a milestone as Task-Hub takes it.
type newMilestone struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	TargetDate  string `json:"targetDate,omitempty"`
}

func (d *desk) addItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_add_item", Group: tool.GroupPlans, Label: "Add an item to a milestone",
			Description: "Add to a milestone of Task-Hub something that has to be done for it. milestone_assign_item has an agent do it.",
			Schema:      tools.Object("milestone_id title", milestoneProperty, titleProperty, descriptionProperty, assigneeProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[itemArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			to := coordination.TrimJS(args.MilestoneID)
			body, err := d.send(ctx, call, http.MethodPost, []string{to, items},
				item{Title: told(args.Title), Description: told(args.Description), Assignee: told(args.Assignee)})
			if err != nil {
				return refuse(ctx, err, asked{milestoneID: to})
			}
			return tools.Answer(changed{Success: true, MilestoneID: to, ItemID: idOf(body, "item"), Answer: bounded(body)})
		},
	}
}

// itemArgs are the arguments of the tools that are about an item.
type itemArgs struct {
	MilestoneID string `json:"milestone_id"`
	ItemID      string `json:"item_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Assignee    string `json:"assignee"`
	Status      string `json:"status"`
	TaskID      string `json:"task_id"`
}

// item is an item of a milestone, or what is to change of one, as Task-Hub takes it.
type item struct {
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Assignee    string   `json:"assigneeAgent,omitempty"`
	Status      string   `json:"status,omitempty"`
	Task        *taskRef `json:"linkedTaskRef,omitempty"`
}

// taskRef is the task by which an item is done.
type taskRef struct {
	AgentID string `json:"agentId"`
	TaskID  string `json:"taskId"`
}

// States of items that are set here.
const (
	statusInProgress = "in_progress"
	statusDone       = "done"
	statusCancelled  = "cancelled"
)

// noTaskYet begins the id of the task of an item that is assigned, as long as there is none.
const noTaskYet = "pending_"

func (d *desk) assignItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_assign_item", Group: tool.GroupPlans, Label: "Assign an item",
			Description: "Have an agent do an item of a milestone. The item is in progress then. The task is not made by this: " +
				"the answer says how you put it into the agent's backlog.",
			Schema: tools.Object("milestone_id item_id assignee", milestoneProperty, itemProperty, assigneeProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[itemArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.assign(ctx, call, &args)
		},
	}
}

func (d *desk) assign(ctx context.Context, call *tools.Call, args *itemArgs) (tool.Output, error) {
	of := asked{milestoneID: coordination.TrimJS(args.MilestoneID), itemID: coordination.TrimJS(args.ItemID)}
	assignee := strings.ToLower(coordination.TrimJS(args.Assignee))
	if !slices.Contains(call.Config.Workers(), assignee) {
		return tools.Refuse(refused{Code: codeInvalid, Field: "assignee", Error: fmt.Sprintf("no agent %q can have tasks", short(assignee)),
			Mend: "name an agent of the team; agents_list shows those that you may see"})
	}
	body, err := d.send(ctx, call, http.MethodPut, of.path(),
		item{Assignee: assignee, Status: statusInProgress, Task: &taskRef{AgentID: assignee, TaskID: noTaskYet + of.itemID}})
	if err != nil {
		return refuse(ctx, err, of)
	}
	return tools.Answer(changed{Success: true, MilestoneID: of.milestoneID, ItemID: of.itemID, Status: statusInProgress, Assignee: assignee,
		Answer: bounded(body),
		Next: fmt.Sprintf("No task has been made. Make it now: task_backlog_add with assignee %q, milestone_id %q and milestone_item_id %q. "+
			"The item is done, or cancelled, by itself when the task is.", assignee, of.milestoneID, of.itemID)})
}

func (d *desk) updateItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_update_item", Group: tool.GroupPlans, Label: "Change an item",
			Description: "Change an item of a milestone. An item whose task you complete or cancel follows by itself: do not tell it here.",
			Schema: tools.Object("milestone_id item_id", milestoneProperty, itemProperty,
				`"status":{"type":"string","minLength":1,"maxLength":64,"description":"How it stands, such as in_progress, done or cancelled."}`,
				titleProperty, descriptionProperty, assigneeProperty,
				`"task_id":{"type":"string","minLength":1,"maxLength":200,"description":"The task by which it is done: the assignee's, yours if none is given."}`),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[itemArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.update(ctx, call, &args)
		},
	}
}

func (d *desk) update(ctx context.Context, call *tools.Call, args *itemArgs) (tool.Output, error) {
	of := asked{milestoneID: coordination.TrimJS(args.MilestoneID), itemID: coordination.TrimJS(args.ItemID)}
	change := item{Title: told(args.Title), Description: told(args.Description), Assignee: told(args.Assignee), Status: told(args.Status)}
	if id := told(args.TaskID); id != "" {
		change.Task = &taskRef{AgentID: call.AgentID, TaskID: id}
		if change.Assignee != "" {
			change.Task.AgentID = change.Assignee
		}
	}
	if change == (item{}) {
		return tools.Refuse(refused{Code: codeInvalid, Error: "nothing is to change", Mend: "give status, title, description, assignee or task_id"})
	}
	body, err := d.send(ctx, call, http.MethodPut, of.path(), change)
	if err != nil {
		return refuse(ctx, err, of)
	}
	return tools.Answer(changed{Success: true, MilestoneID: of.milestoneID, ItemID: of.itemID, Status: change.Status, Assignee: change.Assignee,
		Answer: bounded(body)})
}

// send asks Task-Hub for a change. What makes something new is told apart from its repetition by the same call, also where a restart has the
// run of the call begin again; another run that asks for the same means another one.
func (d *desk) send(ctx context.Context, call *tools.Call, method string, path []string, what any) (json.RawMessage, error) {
	body, err := tools.Encode(what)
	if err != nil {
		return nil, err
	}
	var header http.Header
	if method == http.MethodPost && call.CallID != "" {
		root, err := d.rootOf(ctx, call.RunID)
		if err != nil {
			return nil, err
		}
		header = http.Header{idempotencyKey: {digest(call.AgentID, call.SessionKey, root, call.CallID, strings.Join(path, "/"), string(body))}}
	}
	return d.hub.Do(ctx, method, path, body, header)
}

// rootOf is the run that was asked for at first, where a run repeats it; "" outside of a run.
func (d *desk) rootOf(ctx context.Context, runID string) (root string, err error) {
	if runID == "" {
		return "", nil
	}
	err = d.log.View(ctx, func(tx *sql.Tx) error {
		one, _, err := runs.Load(projections.Reading(ctx, tx), runID)
		root = run.RootOf(runID, one.RetryOf)
		return err
	})
	return root, err
}
