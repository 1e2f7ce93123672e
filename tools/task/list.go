package task

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
)

func (d *Desk) listTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_list", Group: tool.GroupTasks, Label: "List tasks",
			Description: "List your tasks that are not over, or with scope all those of all agents: the most urgent first, then by due date. A status selects; " +
				"one of completed, cancelled and abandoned lists what is over, the newest first.",
			Schema: tools.Object("",
				`"status":{"type":"string","enum":["all","pending","pending_approval","in_progress","blocked","backlog","interrupted","completed","cancelled","abandoned"],
					"description":"Only tasks in this state; all (the default) are those that are not over."}`,
				`"scope":{"type":"string","enum":["own","all"],"description":"all: those of all agents. Yours if absent."}`,
				`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"How many; 100 if absent."}`,
				`"cursor":{"type":"string","maxLength":1000,"description":"nextCursor of the answer before, to go on from there."}`),
		},
		Who: tools.Who{NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[listArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.list(ctx, call.AgentID, &args)
		},
	}
}

// usualLimit is how many tasks are listed for who does not say.
const usualLimit = 100

// maxListed is how many bytes a list has; it is parted into more pages where it would have more.
const maxListed = 200 << 10

type listArgs struct {
	Status string `json:"status"`
	Scope  string `json:"scope"`
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

type listAnswer struct {
	Success    bool         `json:"success"`
	Count      int          `json:"count"`
	Tasks      []listedTask `json:"tasks"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// listedTask is a task in a list. Texts are beginnings.
type listedTask struct {
	TaskID        string   `json:"taskId"`
	AgentID       string   `json:"agentId,omitempty"` // with scope all
	Status        string   `json:"status"`
	Priority      string   `json:"priority"`
	Description   string   `json:"description"`
	Created       string   `json:"created"`
	LastActivity  string   `json:"lastActivity"`
	WorkSessionID string   `json:"workSessionId,omitempty"`
	ProgressCount int      `json:"progressCount"`
	LastProgress  string   `json:"lastProgress,omitempty"`
	Focus         bool     `json:"inFocus,omitempty"`
	StartDate     string   `json:"startDate,omitempty"`
	DueDate       string   `json:"dueDate,omitempty"`
	DependsOn     []string `json:"dependsOn,omitempty"`
	BlockedReason string   `json:"blockedReason,omitempty"`
	UnblockedBy   []string `json:"unblockedBy,omitempty"`
}

func (d *Desk) list(ctx context.Context, agent string, args *listArgs) (tool.Output, error) {
	filter := projection.Filter{Limit: cmp.Or(args.Limit, usualLimit), After: args.Cursor}
	if args.Scope != "all" {
		filter.Agents = []string{agent}
	}
	if open := true; args.Status == "" || args.Status == "all" {
		filter.Open = &open
	} else {
		filter.Statuses = []string{args.Status}
	}
	for {
		var rows []projection.Row
		var next string
		err := d.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
			rows, next, err = projection.List(ctx, tx, filter)
			return err
		})
		if errors.Is(err, projection.ErrCursor) {
			return refuse(&task.Refusal{Reason: task.CodeInvalid, Field: "cursor", Text: "the cursor is none that task_list has given",
				Mend: "give nextCursor of an answer, or none to begin anew"}, nil)
		}
		if err != nil {
			return tool.Output{}, err
		}
		out, err := tools.Answer(listed(rows, next, args.Scope == "all"))
		if err != nil || len(out.Text) <= maxListed || filter.Limit == 1 {
			return out, err
		}
		filter.Limit = max(filter.Limit/2, 1)
	}
}

func listed(rows []projection.Row, next string, all bool) listAnswer {
	answer := listAnswer{Success: true, Count: len(rows), Tasks: make([]listedTask, len(rows)), NextCursor: next}
	for i := range rows {
		row := &rows[i]
		answer.Tasks[i] = listedTask{
			TaskID: row.ID, Status: row.Status, Priority: row.Priority, Description: brief(row.Description), Created: row.Created,
			LastActivity: row.LastActivity, WorkSessionID: row.WorkSessionID, ProgressCount: row.ProgressCount, LastProgress: brief(row.LastProgress),
			Focus: row.Focus, StartDate: row.StartDate, DueDate: row.DueDate, DependsOn: row.DependsOn, BlockedReason: brief(row.BlockedReason),
			UnblockedBy: row.UnblockedBy,
		}
		if all {
			answer.Tasks[i].AgentID = row.AgentID
		}
	}
	return answer
}

func brief(text string) string { return coordination.Head(text, maxBrief) }
