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
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/tools"
)

type changeAnswer struct {
	Success     bool            `json:"success"`
	MilestoneID string          `json:"milestoneId,omitempty"`
	ItemID      string          `json:"itemId,omitempty"`
	Status      string          `json:"status,omitempty"`
	Assignee    string          `json:"assignee,omitempty"`
	Answer      json.RawMessage `json:"taskHub,omitempty"` // Task-Hub's answer
	Next        string          `json:"next,omitempty"`    // what is left to do
}

func (d *service) createTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_create", Group: tool.GroupPlans, Label: "Create a milestone",
			Description: "Create a milestone in Task-Hub. Add its work as items with milestone_add_item.",
			Schema: tools.Object("title", titleProperty, descriptionProperty,
				`"due_date":{"type":"string","maxLength":64,"description":"Due date, e.g. 2026-02-28."}`),
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
			body, err := d.send(ctx, call, http.MethodPost, nil, newMilestone{cleanText(args.Title), cleanText(args.Description), cleanText(args.DueDate)})
			if err != nil {
				return refuse(ctx, err, callTarget{})
			}
			return tools.Answer(changeAnswer{Success: true, MilestoneID: idOf(body, "milestone"), Answer: bounded(body)})
		},
	}
}

type newMilestone struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	TargetDate  string `json:"targetDate,omitempty"`
}

func (d *service) addItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_add_item", Group: tool.GroupPlans, Label: "Add an item to a milestone",
			Description: "Add an item of work to a milestone in Task-Hub. milestone_assign_item assigns it to an agent.",
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
				item{Title: cleanText(args.Title), Description: cleanText(args.Description), Assignee: cleanText(args.Assignee)})
			if err != nil {
				return refuse(ctx, err, callTarget{milestoneID: to})
			}
			return tools.Answer(changeAnswer{Success: true, MilestoneID: to, ItemID: idOf(body, "item"), Answer: bounded(body)})
		},
	}
}

type itemArgs struct {
	MilestoneID string `json:"milestone_id"`
	ItemID      string `json:"item_id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Assignee    string `json:"assignee"`
	Status      string `json:"status"`
	TaskID      string `json:"task_id"`
}

// item is an item of a milestone, or a change of one, in Task-Hub's form.
type item struct {
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Assignee    string   `json:"assigneeAgent,omitempty"`
	Status      string   `json:"status,omitempty"`
	Task        *taskRef `json:"linkedTaskRef,omitempty"`
}

type taskRef struct {
	AgentID string `json:"agentId"`
	TaskID  string `json:"taskId"`
}

// Item statuses that are set here.
const (
	statusInProgress = "in_progress"
	statusDone       = "done"
	statusCancelled  = "cancelled"
)

// noTaskYet prefixes the task id of an assigned item that has no task yet.
const noTaskYet = "pending_"

func (d *service) assignItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_assign_item", Group: tool.GroupPlans, Label: "Assign an item",
			Description: "Assign an item of a milestone to an agent. The item is then in progress. This does not create a task: " +
				"the answer shows how to add one to the agent's backlog.",
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

func (d *service) assign(ctx context.Context, call *tools.Call, args *itemArgs) (tool.Output, error) {
	of := callTarget{milestoneID: coordination.TrimJS(args.MilestoneID), itemID: coordination.TrimJS(args.ItemID)}
	assignee := strings.ToLower(coordination.TrimJS(args.Assignee))
	if !slices.Contains(call.Config.Workers(), assignee) {
		return tools.Refuse(refused{Code: codeInvalid, Field: "assignee", Error: fmt.Sprintf("no agent %q can have tasks", short(assignee)),
			Hint: "name an agent of the team; agents_list shows those that you may see"})
	}
	body, err := d.send(ctx, call, http.MethodPut, of.path(),
		item{Assignee: assignee, Status: statusInProgress, Task: &taskRef{AgentID: assignee, TaskID: noTaskYet + of.itemID}})
	if err != nil {
		return refuse(ctx, err, of)
	}
	return tools.Answer(changeAnswer{Success: true, MilestoneID: of.milestoneID, ItemID: of.itemID, Status: statusInProgress, Assignee: assignee,
		Answer: bounded(body),
		Next: fmt.Sprintf("No task has been made. Make it now: task_backlog_add with assignee %q, milestone_id %q and milestone_item_id %q. "+
			"The item is done, or cancelled, by itself when the task is.", assignee, of.milestoneID, of.itemID)})
}

func (d *service) updateItemTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "milestone_update_item", Group: tool.GroupPlans, Label: "Change an item",
			Description: "Change an item of a milestone. If you complete or cancel its task, the item is updated automatically: do not report it here.",
			Schema: tools.Object("milestone_id item_id", milestoneProperty, itemProperty,
				`"status":{"type":"string","minLength":1,"maxLength":64,"description":"New status, e.g. in_progress, done or cancelled."}`,
				titleProperty, descriptionProperty, assigneeProperty,
				`"task_id":{"type":"string","minLength":1,"maxLength":200,"description":"Id of the task that does the item: a task of the assignee, or yours if assignee is absent."}`),
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

func (d *service) update(ctx context.Context, call *tools.Call, args *itemArgs) (tool.Output, error) {
	of := callTarget{milestoneID: coordination.TrimJS(args.MilestoneID), itemID: coordination.TrimJS(args.ItemID)}
	change := item{Title: cleanText(args.Title), Description: cleanText(args.Description), Assignee: cleanText(args.Assignee), Status: cleanText(args.Status)}
	if id := cleanText(args.TaskID); id != "" {
		change.Task = &taskRef{AgentID: call.AgentID, TaskID: id}
		if change.Assignee != "" {
			change.Task.AgentID = change.Assignee
		}
	}
	if change == (item{}) {
		return tools.Refuse(refused{Code: codeInvalid, Error: "nothing is to change", Hint: "give status, title, description, assignee or task_id"})
	}
	body, err := d.send(ctx, call, http.MethodPut, of.path(), change)
	if err != nil {
		return refuse(ctx, err, of)
	}
	return tools.Answer(changeAnswer{Success: true, MilestoneID: of.milestoneID, ItemID: of.itemID, Status: change.Status, Assignee: change.Assignee,
		Answer: bounded(body)})
}

// send asks Task-Hub for a change. The Idempotency-Key of a creation is the same for repetitions by the same call, also after a restart
// has repeated its run; another run that asks for the same thing creates another one.
func (d *service) send(ctx context.Context, call *tools.Call, method string, path []string, what any) (json.RawMessage, error) {
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

// rootOf returns the original run of a repeated one; "" outside of a run.
func (d *service) rootOf(ctx context.Context, runID string) (root string, err error) {
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
