package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/workspace"
)

// OwnTasks holds what answers about tasks need if agents keep their tasks here. Every field may be nil.
type OwnTasks struct {
	// Team lists the agents of the configuration in force.
	Team func() []config.Agent
	// Home returns an agent's workspace; "" for none. nil: all are in Options.Workspace.
	Home  func(agent string) string
	Files TaskFiles // nil: no files are written
}

// logBoard reads the table of tasks, the source of truth if agents keep their tasks here. Its agents are those
// configured, those with a workspace, and those that have had a task.
type logBoard struct {
	ctx    context.Context
	v      *view
	ids    []string                // all agents, sorted
	roles  map[string]string       // of configured agents
	boards map[string]*tasks.Board // of agents that have had a task
}

// newLogBoard reads the state of all agents. homes are those with a workspace.
func newLogBoard(ctx context.Context, v *view, homes []string) (*logBoard, error) {
	b := &logBoard{ctx: ctx, v: v, roles: map[string]string{}, boards: map[string]*tasks.Board{}}
	list, err := tasks.Boards(ctx, v.tx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, id := range homes {
		ids[strings.ToLower(id)] = true
	}
	for i := range list {
		b.boards[list[i].AgentID], ids[list[i].AgentID] = &list[i], true
	}
	if v.OwnTasks.Team != nil {
		for _, m := range v.OwnTasks.Team() {
			id := strings.ToLower(m.ID)
			b.roles[id], ids[id] = m.Role, true
		}
	}
	b.ids = slices.Sorted(maps.Keys(ids))
	return b, nil
}

func (b *logBoard) agents() ([]string, error) { return b.ids, nil }

func (b *logBoard) has(agent string) (bool, error) {
	_, found := slices.BinarySearch(b.ids, strings.ToLower(agent))
	return found, nil
}

// of returns an agent's state, empty if it never had a task.
func (b *logBoard) of(agent string) *tasks.Board {
	if board := b.boards[strings.ToLower(agent)]; board != nil {
		return board
	}
	return &tasks.Board{}
}

func (b *logBoard) agent(id string) (*agentAnswer, error) {
	board := b.of(id)
	a := &agentAnswer{ID: id, WorkspaceDir: b.home(id), HasCurrentTask: board.Focus != nil, TaskCounts: map[string]int{}, DerivedFromSeq: board.Seq}
	for status, n := range board.Counts {
		if n > 0 {
			a.TaskCounts[status] = n
			a.TaskCount += n
		}
	}
	if board.Focus != nil {
		a.CurrentTask = &currentTask{ID: board.Focus.ID, Title: truncatedCopy(board.Focus.Title())}
	}
	return a, nil
}

func (b *logBoard) home(agent string) string {
	if b.v.OwnTasks.Home != nil {
		return b.v.OwnTasks.Home(agent)
	}
	return b.v.Workspace.AgentDir(agent)
}

func (b *logBoard) tasks(agent, status string) ([]boardTask, []workspace.Fault, error) {
	open := true
	f := tasks.Filter{Agents: []string{strings.ToLower(agent)}, Open: &open, Limit: maxLimit, Whole: true}
	if status != "" {
		f.Statuses = []string{status}
	}
	list := []boardTask{}
	for {
		rows, next, err := tasks.List(b.ctx, b.v.tx, f)
		if err != nil {
			return nil, nil, err
		}
		for i := range rows {
			list = append(list, boardTask{rows[i].Task, rows[i].Seq})
		}
		if f.After = next; next == "" {
			return list, nil, nil
		}
	}
}

func (b *logBoard) task(agent, id string) (*boardTask, location, error) {
	row, found, err := tasks.ByID(b.ctx, b.v.tx, id)
	switch {
	case err != nil:
		return nil, "", err
	case !found || !strings.EqualFold(row.AgentID, agent):
		return nil, locatedNowhere, nil
	case row.EndedMs > 0:
		return &boardTask{asHistory(row.Task), row.Seq}, locatedHistory, nil
	case row.Gone:
		return nil, locatedNowhere, nil
	}
	return &boardTask{row.Task, row.Seq}, locatedActive, nil
}

// asHistory converts a finished task to a history entry, with its outcome as the context.
func asHistory(t taskfile.Task) taskfile.Task {
	var o struct{ Kind, Summary, Reason, Error string }
	_ = json.Unmarshal(t.Outcome, &o) // without an outcome, its own context
	t.Source = string(locatedHistory)
	switch {
	case o.Kind != coordination.StateCancelled:
		t.Context = cmp.Or(o.Summary, o.Reason, o.Error, t.Context)
	case o.Reason != "":
		t.Context = "Cancelled: " + o.Reason
	default:
		t.Context = "Cancelled"
	}
	return t
}

func (b *logBoard) current(agent string) (*currentAnswer, error) {
	board := b.of(agent)
	a := &currentAnswer{AgentID: agent, State: taskfile.CurrentNone, DerivedFromSeq: board.Seq}
	if board.Focus == nil {
		if board.AgentID != "" {
			text := taskfile.FormatCurrent(nil)
			a.Content = &text
		}
		return a, nil
	}
	row, found, err := tasks.ByID(b.ctx, b.v.tx, board.Focus.ID)
	if err != nil || !found {
		return a, err
	}
	text, title := taskfile.FormatCurrent(&row.Task), row.Title()
	a.HasTask, a.State, a.Content, a.TaskSummary, a.TaskID, a.DerivedFromSeq = true, taskfile.CurrentTask, &text, &title, &row.ID, row.Seq
	return a, nil
}

func (b *logBoard) history(agent, month string, limit int) (*historyAnswer, error) {
	id := strings.ToLower(agent)
	months, err := tasks.Months(b.ctx, b.v.tx, id)
	if err != nil {
		return nil, err
	}
	if month == "" && len(months) > 0 {
		month = months[0]
	}
	a := &historyAnswer{AgentID: agent, Months: append([]string{}, months...), CurrentMonth: orNull(month)}
	if a.HasHistory = slices.Contains(months, month); !a.HasHistory {
		return a, nil
	}
	entries, end, err := tasks.LastEntries(b.ctx, b.v.tx, id, month, limit)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString(taskfile.MonthHeader(month))
	for i := range entries {
		text.WriteString(taskfile.FormatEntry(&entries[i]))
	}
	// If more entries exist than requested, the extra first one is removed again.
	a.History, a.DerivedFromSeq = taskfile.ParseMonth(text.String()).Last(limit), end
	return a, nil
}

type teamMember struct {
	AgentID             string  `json:"agentId"`
	Role                string  `json:"role"` // lead, worker, specialist
	CurrentTaskID       *string `json:"currentTaskId"`
	LastHeartbeatMs     int64   `json:"lastHeartbeatMs"`     // last change of one of its tasks; 0: never
	Status              string  `json:"status"`              // active: a task is in progress; interrupted: one is interrupted and none in progress; idle
	ConsecutiveFailures int     `json:"consecutiveFailures"` // consecutive continuation prompts whose run failed
	LastFailureReason   string  `json:"lastFailureReason,omitempty"`
	BackoffUntilMs      int64   `json:"backoffUntilMs,omitempty"` // earliest time of the next prompt
	DerivedFromSeq      int64   `json:"derivedFromSeq"`
}

const usualRole = "worker"

func (b *logBoard) team() (*teamStateAnswer, error) {
	members := make(map[string]teamMember, len(b.ids))
	a := &teamStateAnswer{Version: json.RawMessage("1")}
	cares, err := b.cares()
	if err != nil {
		return nil, err
	}
	for _, id := range b.ids {
		board := b.of(id)
		m := teamMember{AgentID: id, Role: usualRole, LastHeartbeatMs: board.LastMs, Status: "idle", DerivedFromSeq: board.Seq}
		if role := b.roles[id]; role != "" {
			m.Role = role
		}
		if board.Focus != nil {
			m.CurrentTaskID = &board.Focus.ID
		}
		switch {
		case board.Counts[coordination.StateInProgress] > 0:
			m.Status = "active"
		case board.Counts[coordination.StateInterrupted] > 0:
			m.Status = "interrupted"
		}
		if care := cares[id]; care != nil {
			m.ConsecutiveFailures, m.LastFailureReason, m.BackoffUntilMs = care.Failures, care.Cause, care.BackoffUntil
			m.DerivedFromSeq = max(m.DerivedFromSeq, care.Seq)
		}
		a.LastUpdatedMs = max(a.LastUpdatedMs, float64(board.LastMs))
		members[id] = m
	}
	a.Agents, err = json.Marshal(members)
	return a, err
}

func (b *logBoard) cares() (map[string]*continuations.Row, error) {
	rows, err := continuations.List(b.ctx, b.v.tx)
	if err != nil {
		return nil, err
	}
	cares := make(map[string]*continuations.Row, len(rows))
	for i := range rows {
		cares[rows[i].AgentID] = &rows[i]
	}
	return cares, nil
}
