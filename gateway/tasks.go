package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

func (s *Server) taskMethods() map[string]answer {
	return map[string]answer{"tasks.list": s.answerTasks, "tasks.get": s.answerTask}
}

type taskInfo struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Runtime   string `json:"runtime"`
	Status    string `json:"status"` // queued, running, completed, failed, cancelled
	Title     string `json:"title,omitempty"`
	AgentID   string `json:"agentId,omitempty"`
	Session   string `json:"sessionKey,omitempty"`
	TaskID    string `json:"taskId"`
	CreatedAt int64  `json:"createdAt,omitempty"`
	UpdatedAt int64  `json:"updatedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Progress  string `json:"progressSummary,omitempty"`
	Terminal  string `json:"terminalSummary,omitempty"`
	Error     string `json:"error,omitempty"`
	Result    string `json:"result,omitempty"` // tasks.get only, like Prompt
	Prompt    string `json:"prompt,omitempty"`
}

// taskStates maps our states to the clients'. Every waiting state is queued.
var taskStates = []struct {
	word   string
	states []string
}{
	{"running", []string{coordination.StateInProgress}},
	{"queued", []string{coordination.StatePending, coordination.StatePendingApproval, coordination.StateBacklog, coordination.StateBlocked,
		coordination.StateInterrupted}},
	{"completed", []string{coordination.StateCompleted}},
	{"failed", []string{coordination.StateFailed}},
	{"cancelled", []string{coordination.StateCancelled, coordination.StateAbandoned}},
}

// statesOf returns our states for a client's state, none for one without equivalent, such as timed_out.
func statesOf(words []string) (states []string) {
	for _, one := range taskStates {
		if slices.Contains(words, one.word) {
			states = append(states, one.states...)
		}
	}
	return states
}

func wordOf(state string) string {
	for _, one := range taskStates {
		if slices.Contains(one.states, state) {
			return one.word
		}
	}
	return "queued"
}

const (
	usualTasks = 100
	maxTasks   = 500
)

type tasksPage struct {
	Tasks []taskInfo `json:"tasks"`
	Next  string     `json:"nextCursor,omitempty"`
}

// answerTasks answers tasks.list: open tasks first, in list order, then finished ones, newest first.
func (s *Server) answerTasks(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Status  json.RawMessage `json:"status"` // a string, or a list of strings
		Agent   string          `json:"agentId"`
		Session string          `json:"sessionKey"`
		Limit   int             `json:"limit"`
		Cursor  string          `json:"cursor"`
	}](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	f := tasks.Filter{Limit: min(cmp.Or(p.Limit, usualTasks), maxTasks), After: p.Cursor}
	if len(p.Status) > 0 && string(p.Status) != "null" {
		var words []string
		var word string
		if json.Unmarshal(p.Status, &word) == nil {
			words = []string{word}
		} else if err := json.Unmarshal(p.Status, &words); err != nil {
			return nil, invalidRequest("invalid tasks.list params: at /status: must be string or array of strings", fault{Field: "status", Hint: "give a state, e.g. running"})
		}
		if f.Statuses = statesOf(words); len(f.Statuses) == 0 {
			return tasksPage{Tasks: []taskInfo{}}, nil
		}
	}
	if id := strings.ToLower(coordination.TrimJS(p.Agent)); id != "" {
		f.Agents = []string{id}
	}
	session := ""
	if p.Session != "" {
		key, err := keyAsked(c, "sessionKey", p.Session, "")
		if err != nil {
			return nil, err
		}
		session = key.String()
	}
	page := tasksPage{Tasks: []taskInfo{}}
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		rows, next, err := tasks.List(ctx, tx, f)
		for i := range rows {
			if session == "" || rows[i].CreatedBySessionKey == session {
				page.Tasks = append(page.Tasks, taskOf(&rows[i]))
			}
		}
		page.Next = next
		return err
	})
	if errors.Is(err, tasks.ErrCursor) {
		return nil, invalidRequest("invalid tasks.list params: unknown cursor", fault{Field: "cursor", Value: echo(p.Cursor), Hint: "give a nextCursor, or leave it out"})
	}
	if err != nil {
		return nil, err
	}
	return encoded(page)
}

func (s *Server) answerTask(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		TaskID string `json:"taskId"`
	}](call)
	if err != nil {
		return nil, err
	}
	var row *tasks.Row
	found := false
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		row, found, err = tasks.ByID(ctx, tx, p.TaskID)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, invalidRequest("task not found: "+echo(p.TaskID), fault{Field: "taskId", Value: echo(p.TaskID), Hint: "name one from tasks.list"})
	}
	one := taskOf(row)
	one.Prompt, one.Result = cutText(row.Description, maxShownText, cutMark), one.Terminal
	return encoded(map[string]taskInfo{"task": one})
}

// maxTaskTitle is the length of a task's title, cut from its description, in characters.
const maxTaskTitle = 120

func taskOf(r *tasks.Row) taskInfo {
	var outcome struct{ Summary, Reason, Error string }
	_ = json.Unmarshal(r.Outcome, &outcome) // there is none before the end
	title, _, _ := strings.Cut(coordination.TrimJS(r.Description), "\n")
	one := taskInfo{
		ID: r.ID, TaskID: r.ID, Kind: "task", Runtime: "openclawd", Status: wordOf(r.Status), Title: cutText(title, maxTaskTitle, "…"), AgentID: r.AgentID,
		Session: r.CreatedBySessionKey, CreatedAt: msOf(r.Created), UpdatedAt: msOf(r.LastActivity), EndedAt: r.EndedMs,
		Progress: r.LastProgress, Terminal: cmp.Or(outcome.Summary, outcome.Reason), Error: outcome.Error,
	}
	switch r.Status {
	case coordination.StateBlocked:
		one.Progress = "blocked: " + r.BlockedReason
	case coordination.StatePendingApproval:
		one.Progress = "waiting for approval"
	}
	return one
}

// msOf parses a time of a task file, 0 if there is none.
func msOf(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}
