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
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	tasks "github.com/pronto-lab/openclawd/projections/task"
)

const (
	taskListPath = "/api/tasks"
	maxTaskText  = 256 // characters of q
)

// TaskStates are the words that a task's status is one of.
var TaskStates = []string{coordination.StateBacklog, coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress,
	coordination.StateBlocked, coordination.StateInterrupted, coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned,
	coordination.StateFailed}

// TaskAnswer is a task of any agent. In a list it has neither its lines of progress nor what is delegated for it.
type TaskAnswer struct {
	taskfile.Task
	AgentID        string `json:"agentId"`
	ProgressCount  int    `json:"progressCount"`
	LastProgress   string `json:"lastProgress,omitempty"`
	Focus          bool   `json:"focus"`   // its agent is at it
	EndedAt        *int64 `json:"endedAt"` // ms since 1970; null: it is not over
	Gone           bool   `json:"gone,omitempty"`
	DerivedFromSeq int64  `json:"derivedFromSeq"`
}

// TaskAnswerOf words a task.
func TaskAnswerOf(r *tasks.Row) TaskAnswer {
	a := TaskAnswer{Task: r.Task, AgentID: r.AgentID, ProgressCount: r.ProgressCount, LastProgress: r.LastProgress, Focus: r.Focus,
		EndedAt: timeOrNull(r.EndedMs), Gone: r.Gone, DerivedFromSeq: r.Seq}
	a.Progress = listOf(a.Progress)
	return a
}

// taskList answers GET /api/tasks.
type taskList struct {
	Tasks      []TaskAnswer   `json:"tasks"`
	Count      int            `json:"count"`
	Counts     map[string]int `json:"counts"` // of all tasks that are not over, by status, whatever was asked for
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listAllTasks lists the tasks of all agents: the open ones first, in the order of urgency, then those that are over, the newest first.
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
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		rows, next, err := tasks.List(ctx, v.tx, f)
		if errors.Is(err, tasks.ErrCursor) {
			p.refuse("cursor", p.first("cursor"), badCursor)
			err = p.err
		}
		if err != nil {
			return nil, err
		}
		a := taskList{Tasks: make([]TaskAnswer, len(rows)), Count: len(rows), AsOfSeq: v.asOf}
		for i := range rows {
			a.Tasks[i] = TaskAnswerOf(&rows[i])
		}
		if next != "" {
			next = sealed("t", base64.RawURLEncoding.EncodeToString([]byte(next)))
			a.NextCursor = &next
		}
		a.Counts, err = v.taskCounts(ctx)
		return a, err
	})
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

// taskCursor reads the place after which the page begins. None is "".
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

// maybe reads a parameter that is true or false; nil where it is missing.
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

// showAnyTask shows a task of any agent, with its progress and what is delegated for it.
func (s *Server) showAnyTask(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		row, found, err := tasks.ByID(ctx, v.tx, id)
		if err == nil && !found {
			err = &problem{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("There is no task %.80q", id), Field: "id",
				Hint: "GET " + taskListPath + " lists them"}
		}
		if err != nil {
			return nil, err
		}
		return shownTask{TaskAnswerOf(row), v.asOf}, nil
	})
}

// TaskFiles are the files in which agents and people read how tasks stand.
type TaskFiles interface {
	// Rewrite writes every one anew, also those that are as they should be, and says how many it has written.
	Rewrite(ctx context.Context) (int, error)
}

// tasksRewritten answers POST /api/tasks/rewrite.
type tasksRewritten struct {
	OK      bool `json:"ok"`
	Written int  `json:"written"` // files
}

// rewriteTasks writes the files of all tasks anew. Who leaves before does not keep it from being done to its end.
func (s *Server) rewriteTasks(c echo.Context) error {
	switch {
	case !skipBody(c):
		return tooLarge()
	case s.opts.OwnTasks == nil || s.opts.OwnTasks.Files == nil:
		return &problem{Status: http.StatusConflict, Code: "tasks_not_kept", Message: "No files of tasks are written here",
			Hint: "ask the server whose agents keep the tasks"}
	}
	n, err := s.opts.OwnTasks.Files.Rewrite(context.WithoutCancel(c.Request().Context()))
	if err != nil {
		s.opts.Logger.Error("files of tasks not written", "written", n, "err", err)
		if isFull(err) {
			return noSpace("what could not be written is tried again all the time")
		}
		return &problem{Status: http.StatusInternalServerError, Code: "write_failed", Message: "Failed to write files of tasks",
			Hint: "the log of the server says why; what could not be written is tried again all the time"}
	}
	s.opts.Logger.Info("files of tasks written anew", "files", n)
	return s.answerFiles(c, tasksRewritten{true, n})
}
