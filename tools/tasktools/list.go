package tasktools

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) listTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_list", Group: tool.GroupTasks, Label: "List tasks",
			Description: "List your open tasks, or with scope all the open tasks of all agents, by priority and then due date. status filters them; " +
				"completed, cancelled and abandoned list finished tasks, newest first.",
			Schema: tools.Object("",
				`"status":{"type":"string","enum":["all","pending","pending_approval","in_progress","blocked","backlog","interrupted","completed","cancelled","abandoned"],
					"description":"Only tasks in this state. Default all: every open task."}`,
				`"scope":{"type":"string","enum":["own","all"],"description":"all: tasks of all agents. Default: yours."}`,
				`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"Maximum number of tasks. Default 100."}`,
				`"cursor":{"type":"string","maxLength":1000,"description":"nextCursor of the previous page."}`),
		},
		Who: tools.Who{NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[listArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.list(ctx, call.AgentID, &args)
		},
	}
}

const usualLimit = 100

// maxListed bounds the bytes of a page; the rest goes to further pages.
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

func (s *Service) list(ctx context.Context, agent string, args *listArgs) (tool.Output, error) {
	filter := tasks.Filter{Limit: cmp.Or(args.Limit, usualLimit), After: args.Cursor}
	if args.Scope != "all" {
		filter.Agents = []string{agent}
	}
	if open := true; args.Status == "" || args.Status == "all" {
		filter.Open = &open
	} else {
		filter.Statuses = []string{args.Status}
	}
	for {
		var rows []tasks.Row
		var next string
		err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
			rows, next, err = tasks.List(ctx, tx, filter)
			return err
		})
		if errors.Is(err, tasks.ErrCursor) {
			return refuse(&task.Refusal{Reason: task.CodeInvalid, Field: "cursor", Text: "the cursor is not one of task_list",
				HintText: "give nextCursor of an answer, or none to start over"}, nil)
		}
		if err != nil {
			return tool.Output{}, err
		}
		out, err := tools.Answer(listAnswerOf(rows, next, args.Scope == "all"))
		if err != nil || len(out.Text) <= maxListed || filter.Limit == 1 {
			return out, err
		}
		filter.Limit = max(filter.Limit/2, 1)
	}
}

func listAnswerOf(rows []tasks.Row, next string, all bool) listAnswer {
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
