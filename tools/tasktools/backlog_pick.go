package tasktools

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

// backlogPickTool returns task_pick_backlog under one of its names.
func (s *Service) backlogPickTool(name string) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: name, Group: tool.GroupTasks, Label: "Start a backlog task",
			Description: "Start a task from your backlog: the named one, else the first that can start, by priority and due date. It becomes your " +
				"active task. Refused while another of your tasks is in progress.",
			Schema: tools.Object("",
				`"task_id":{"type":"string","maxLength":200,"description":"Id of the task. Default: the first that can start."}`,
				`"taskId":{"type":"string","maxLength":200,"description":"Alias of task_id."}`, versionProperty),
		},
		Who: ownersOnly(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.pick(ctx, call, &args)
		},
	}
}

type pickAnswer struct {
	taskAnswer
	Picked      bool   `json:"picked"`
	Description string `json:"description"`
	Context     string `json:"context,omitempty"`
	Priority    string `json:"priority"`
	DueDate     string `json:"dueDate,omitempty"`
	StartedAt   string `json:"startedAt"`
}

func (s *Service) pick(ctx context.Context, call *tools.Call, args *target) (tool.Output, error) {
	id, err := args.id()
	if err != nil {
		return refuse(err, nil)
	}
	var candidates []string
	if id == "" {
		if candidates, err = s.backlogOf(ctx, call.AgentID); err != nil {
			return tool.Output{}, err
		}
	}
	c := s.asks(call, "task_pick_backlog", args.Version)
	first := func(tx eventstore.Tx, agent string) (string, error) {
		return firstPickable(tx, agent, candidates, c.asked.Now)
	}
	c.find = c.findTask(id, first, nil)
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) { return s.decidePick(tx, c, t) }
	done, err := s.change(ctx, c)
	if err != nil {
		return refuse(err, &done.Task)
	}
	return tools.Answer(pickAnswer{taskAnswer: done.answer(), Picked: true, Description: done.Description, Context: done.Background, Priority: done.Priority,
		DueDate: done.Backlog.DueDate, StartedAt: coordination.FormatTime(done.ActiveAt)})
}

func (s *Service) decidePick(tx eventstore.Tx, c *taskChange, t *task.Task) ([]task.Event, error) {
	active, err := tasks.Active(tx, t.Agent)
	if err != nil {
		return nil, err
	}
	states, err := tasks.States(tx, t.Backlog.DependsOn)
	if err != nil {
		return nil, err
	}
	renewed, err := s.Renewed(tx, t, c.asked.Now)
	if err != nil {
		return nil, err
	}
	return task.Pick(t, task.PickAsk{Asked: c.asked, Active: active, States: states, Renewed: renewed})
}

// pickable are the states of tasks that have not started. Only tasks from files are pending.
func pickable() []string { return []string{coordination.StateBacklog, coordination.StatePending} }

func (s *Service) backlogOf(ctx context.Context, agent string) (ids []string, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		rows, _, err := tasks.List(ctx, tx, tasks.Filter{Agents: []string{agent}, Statuses: pickable(), Limit: task.MaxOpen})
		ids = make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		return err
	})
	return ids, err
}

// firstPickable returns the first of an agent's tasks that can begin, else the first of them, whose refusal says why not. The list was
// read before the transaction; each task is read again within it.
func firstPickable(tx eventstore.Tx, agent string, candidates []string, now int64) (string, error) {
	waiting := ""
	for _, id := range candidates {
		t, found, err := tasks.Load(tx, id)
		if err != nil {
			return "", err
		}
		if !found || t.Agent != agent || !slices.Contains(pickable(), t.Status) {
			continue
		}
		states, err := tasks.States(tx, t.Backlog.DependsOn)
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
		return "", &task.Refusal{Reason: task.CodeNothing, Field: "task_id", Text: "your backlog is empty", HintText: "begin something new with task_start"}
	}
	return waiting, nil
}
