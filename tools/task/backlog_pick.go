package task

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

// backlogPickTool is task_pick_backlog, by one of its names.
func (d *Desk) backlogPickTool(name string) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: name, Group: tool.GroupTasks, Label: "Begin a task of the backlog",
			Description: "Begin a task of your backlog: the one that is named, else the first that can begin, by priority and due date. It becomes your " +
				"active task. You must not have another one that is in progress.",
			Schema: tools.Object("",
				`"task_id":{"type":"string","maxLength":200,"description":"The task, by its id; the first that can begin if absent."}`,
				`"taskId":{"type":"string","maxLength":200,"description":"The same as task_id."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.pick(ctx, call, &args)
		},
	}
}

type pickAnswer struct {
	told
	Picked      bool   `json:"picked"`
	Description string `json:"description"`
	Context     string `json:"context,omitempty"`
	Priority    string `json:"priority"`
	DueDate     string `json:"dueDate,omitempty"`
	StartedAt   string `json:"startedAt"`
}

func (d *Desk) pick(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	var candidates []string
	if id == "" {
		if candidates, err = d.backlogOf(ctx, call.AgentID); err != nil {
			return tool.Output{}, err
		}
	}
	c := d.asks(call, "task_pick_backlog", args.Version)
	first := func(tx eventstore.Tx, agent string) (string, error) {
		return firstPickable(tx, agent, candidates, c.asked.Now)
	}
	c.find = c.findTask(id, first, nil)
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) { return d.decidePick(tx, c, t) }
	done, err := d.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(pickAnswer{told: done.told(), Picked: true, Description: done.Description, Context: done.Background, Priority: done.Priority,
		DueDate: done.Backlog.DueDate, StartedAt: iso(done.ActiveAt)})
}

func (d *Desk) decidePick(tx eventstore.Tx, c *change, t *task.Task) ([]task.Event, error) {
	active, err := projection.Active(tx, t.Agent)
	if err != nil {
		return nil, err
	}
	states, err := projection.States(tx, t.Backlog.DependsOn)
	if err != nil {
		return nil, err
	}
	renewed, err := d.Renewed(tx, t, c.asked.Now)
	if err != nil {
		return nil, err
	}
	return task.Pick(t, task.PickAsk{Asked: c.asked, Active: active, States: states, Renewed: renewed})
}

// pickable are the states of tasks that have not begun. Only files have tasks that are pending.
func pickable() []string { return []string{coordination.StateBacklog, coordination.StatePending} }

// backlogOf is an agent's backlog, in the order of lists.
func (d *Desk) backlogOf(ctx context.Context, agent string) (ids []string, err error) {
	err = d.o.Log.View(ctx, func(tx *sql.Tx) error {
		rows, _, err := projection.List(ctx, tx, projection.Filter{Agents: []string{agent}, Statuses: pickable(), Limit: task.MaxOpen})
		ids = make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		return err
	})
	return ids, err
}

// firstPickable is the first of an agent's tasks that can begin, else the first of them, so that its refusal says why not. They were listed
// before the transaction; how each stands is read in it.
func firstPickable(tx eventstore.Tx, agent string, candidates []string, now int64) (string, error) {
	waiting := ""
	for _, id := range candidates {
		t, found, err := projection.Load(tx, id)
		if err != nil {
			return "", err
		}
		if !found || t.Agent != agent || !slices.Contains(pickable(), t.Status) {
			continue
		}
		states, err := projection.States(tx, t.Backlog.DependsOn)
		if err != nil {
			return "", err
		}
		if task.Pickable(t, states, now) == "" {
			return id, nil
		}
		if waiting == "" {
			waiting = id
		}
	}
	if waiting == "" {
		return "", &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "your backlog is empty", Mend: "begin something new with task_start"}
	}
	return waiting, nil
}
