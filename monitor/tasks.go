package monitor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

const (
	taskListPath = "/api/tasks"
	rewritePath  = taskListPath + "/rewrite"
	maxTaskText  = 256 // characters of q
)

// TaskStates are the values of a task's status.
var TaskStates = []string{coordination.StateBacklog, coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress,
	coordination.StateBlocked, coordination.StateInterrupted, coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned,
	coordination.StateFailed}

// TaskAnswer is a task of any agent. In lists it has neither progress nor delegations.
type TaskAnswer struct {
	taskfile.Task
	AgentID        string `json:"agentId"`
	ProgressCount  int    `json:"progressCount"`
	LastProgress   string `json:"lastProgress,omitempty"`
	Focus          bool   `json:"focus"`   // its agent works on it
	EndedAt        *int64 `json:"endedAt"` // ms since 1970; null: open
	Gone           bool   `json:"gone,omitempty"`
	DerivedFromSeq int64  `json:"derivedFromSeq"`

	// Not in the command line's output: the known tasks of dependsOn, in its order; and Progress, with codes.
	Dependencies  []taskDependency `json:"dependencies,omitempty"`
	ProgressLines []task.Line      `json:"progressLines,omitempty"`
}

// taskDependency is a task that another one waits for.
type taskDependency struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"` // absent: its description is no title
	Status string `json:"status"`
}

// TaskAnswerOf converts a task.
func TaskAnswerOf(r *tasks.Row) TaskAnswer {
	a := TaskAnswer{Task: r.Task, AgentID: r.AgentID, ProgressCount: r.ProgressCount, LastProgress: r.LastProgress, Focus: r.Focus,
		EndedAt: orNull(r.EndedMs), Gone: r.Gone, DerivedFromSeq: r.Seq}
	a.Progress = listOf(a.Progress)
	return a
}

// taskList answers GET /api/tasks.
type taskList struct {
	Tasks      []TaskAnswer   `json:"tasks"`
	Count      int            `json:"count"`
	Counts     map[string]int `json:"counts"` // open tasks by status, regardless of filters
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listAllTasks lists all agents' tasks: open ones first, most urgent first, then finished ones, newest first.
func (s *Server) listAllTasks(c echo.Context) error {
	p := parametersOf(c)
	f := tasks.Filter{Agents: p.list("agent"), Statuses: p.words("status", TaskStates...), WorkSession: p.workSession("workSessionId"),
		Open: p.maybe("open"), Text: p.first("q"), After: p.taskCursor(), Limit: p.limit()}
	for i, agent := range f.Agents {
		f.Agents[i] = strings.ToLower(agent)
	}
	if utf8.RuneCountInString(f.Text) > maxTaskText {
		p.refuse("q", f.Text, fmt.Sprintf("give at most %d characters", maxTaskText))
	}
	f.Priority = p.word("priority", priorities...)
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		rows, next, err := tasks.List(ctx, v.tx, f)
		if errors.Is(err, tasks.ErrCursor) {
			p.refuse("cursor", p.first("cursor"), badCursor)
			err = p.err
		}
		if err != nil {
			return nil, err
		}
		a := taskList{Tasks: each(rows, TaskAnswerOf), Count: len(rows), AsOfSeq: v.asOf}
		if next != "" {
			next = sealed("t", base64.RawURLEncoding.EncodeToString([]byte(next)))
			a.NextCursor = &next
		}
		if err := v.nameDependencies(ctx, a.Tasks); err != nil {
			return nil, err
		}
		a.Counts, err = v.taskCounts(ctx)
		return a, err
	})
}

// nameDependencies adds titles and states of the tasks that tasks wait for, read at once.
func (v *view) nameDependencies(ctx context.Context, list []TaskAnswer) error {
	var ids []string
	for i := range list {
		ids = append(ids, list[i].DependsOn...)
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := tasks.Labels(ctx, v.tx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		for _, id := range list[i].DependsOn {
			if l, known := found[id]; known {
				list[i].Dependencies = append(list[i].Dependencies, taskDependency{id, coordination.TaskTitle(l.Description, v.roster), l.Status})
			}
		}
	}
	return nil
}

func (v *view) taskCounts(ctx context.Context) (map[string]int, error) {
	boards, err := tasks.Boards(ctx, v.tx)
	counts := map[string]int{}
	for i := range boards {
		for status, n := range boards[i].Counts {
			if n > 0 {
				counts[status] += n
			}
		}
	}
	return counts, err
}

// taskCursor parses the position after which the page starts; "" without a cursor.
func (p *parameters) taskCursor() string {
	text := p.first("cursor")
	if text == "" {
		return ""
	}
	if parts, ok := opened(text, "t", 1); ok {
		if after, err := base64.RawURLEncoding.DecodeString(parts[0]); err == nil && len(after) > 0 {
			return string(after)
		}
	}
	p.refuse("cursor", text, badCursor)
	return ""
}

func (p *parameters) maybe(name string) *bool {
	if p.first(name) == "" {
		return nil
	}
	yes := p.yes(name)
	return &yes
}

// shownTask answers GET /api/tasks/:id.
type shownTask struct {
	Task    TaskAnswer `json:"task"`
	AsOfSeq int64      `json:"asOfSeq"`
}

// showAnyTask shows a task of any agent, with its progress and delegations.
func (s *Server) showAnyTask(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		row, found, err := tasks.ByID(ctx, v.tx, id)
		if err == nil && !found {
			err = &problem{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("Task not found: %.80q", id), Field: "id",
				Hint: "GET " + taskListPath + " lists them"}
		}
		if err != nil {
			return nil, err
		}
		shown := []TaskAnswer{TaskAnswerOf(row)}
		if err := v.nameDependencies(ctx, shown); err != nil {
			return nil, err
		}
		shown[0].ProgressLines = each(shown[0].Progress, func(line *string) task.Line { return task.ReadLine(*line) })
		return shownTask{shown[0], v.asOf}, nil
	})
}

// TaskFiles are the task files for agents and people.
type TaskFiles interface {
	// Rewrite rewrites every file, even unchanged ones, and returns the number written.
	Rewrite(ctx context.Context) (int, error)
}

// tasksRewritten answers POST /api/tasks/rewrite.
type tasksRewritten struct {
	OK      bool `json:"ok"`
	Written int  `json:"written"` // files
}

// rewriteTasks rewrites all task files. It completes even if the client leaves.
func (s *Server) rewriteTasks(c echo.Context) error {
	switch {
	case !skipBody(c):
		return tooLarge()
	case s.opts.OwnTasks == nil || s.opts.OwnTasks.Files == nil:
		return &problem{Status: http.StatusConflict, Code: "tasks_not_kept", Message: "No task files are written here",
			Hint: "ask the server that runs the agents"}
	}
	n, err := s.opts.OwnTasks.Files.Rewrite(context.WithoutCancel(c.Request().Context()))
	if err != nil {
		s.opts.Logger.Error("cannot write all task files; will retry", "written", n, "err", err)
		if isFull(err) {
			return noSpace("files that could not be written are retried continuously")
		}
		return &problem{Status: http.StatusInternalServerError, Code: "write_failed", Message: "Failed to write task files",
			Hint: "see the server's log; files that could not be written are retried continuously"}
	}
	s.opts.Logger.Info("task files rewritten", "files", n)
	return s.answerFiles(c, tasksRewritten{true, n})
}
