package tasktools

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools"
)

func (s *Service) statusTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_status", Group: tool.GroupTasks, Label: "Task status",
			Description: "Show one of your tasks with its steps, progress and delegations. Without task_id: a summary of your open tasks.",
			Schema:      tools.Object("", taskIDProperties),
		},
		Who: tools.Who{NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[target](call)
			if err != nil {
				return tool.Output{}, err
			}
			id, err := args.id()
			switch {
			case err != nil:
				return refuse(err, nil)
			case id == "":
				return s.summary(ctx, call.AgentID)
			}
			return s.status(ctx, call.AgentID, id)
		},
	}
}

type statusAnswer struct {
	Success bool       `json:"success"`
	Found   bool       `json:"found"`
	TaskID  string     `json:"taskId,omitempty"` // if it was not found
	Task    *taskShown `json:"task,omitempty"`
}

type taskShown struct {
	taskfile.Task
	TaskID        string            `json:"taskId"`
	AgentID       string            `json:"agentId"`
	Version       int64             `json:"version"`
	Focus         bool              `json:"inFocus,omitempty"`
	ProgressCount int               `json:"progressCount"` // number of all lines; progress has the last ones
	Delegations   []delegationShown `json:"delegations,omitempty"`
	Summary       *task.Summary     `json:"delegationSummary,omitempty"`
	Shortened     bool              `json:"shortened,omitempty"`        // texts are cut because it is too long
	Events        *struct{}         `json:"delegationEvents,omitempty"` // number of those left out
}

type delegationShown struct {
	DelegationID string `json:"delegationId"`
	AgentID      string `json:"agentId"`
	Label        string `json:"label,omitempty"`
	Status       string `json:"status"`
	RetryCount   int    `json:"retryCount"`
	MaxRetries   int    `json:"maxRetries"`
	RunID        string `json:"runId,omitempty"`
	Result       string `json:"result,omitempty"` // shortened
	Error        string `json:"error,omitempty"`
	Note         string `json:"note,omitempty"`
}

const (
	maxLines       = 50
	maxLinesBytes  = 48 << 10
	maxDelegations = 30
	maxResult      = 500   // characters
	maxBrief       = 200   // characters of a text in a list
	maxShortened   = 4_000 // characters of a text of a task that is too long for an answer
)

func (s *Service) status(ctx context.Context, agent, id string) (tool.Output, error) {
	var row *tasks.Row
	var all []task.Delegation
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if row, _, err = tasks.ByID(ctx, tx, id); row == nil || err != nil {
			return err
		}
		all, err = tasks.DelegationsOf(projections.Reading(ctx, tx), id)
		return err
	})
	if err != nil {
		return tool.Output{}, err
	}
	if row == nil || row.Gone || row.AgentID != agent {
		return tools.Answer(statusAnswer{Success: true, TaskID: coordination.Head(coordination.Mask(id), maxShown)})
	}
	shown := show(row, all)
	out, err := tools.Answer(statusAnswer{Success: true, Found: true, Task: shown})
	if err != nil || len(out.Text) <= maxListed {
		return out, err
	}
	shown.shorten()
	return tools.Answer(statusAnswer{Success: true, Found: true, Task: shown})
}

func show(row *tasks.Row, all []task.Delegation) *taskShown {
	shown := &taskShown{Task: row.Task, TaskID: row.ID, AgentID: row.AgentID, Version: row.Version, Focus: row.Focus, ProgressCount: row.ProgressCount}
	shown.Progress = lastLines(row.Progress)
	for i := range all[max(len(all)-maxDelegations, 0):] {
		one := &all[max(len(all)-maxDelegations, 0)+i]
		shown.Delegations = append(shown.Delegations, delegationShown{
			DelegationID: one.ID, AgentID: one.Agent, Label: one.Label, Status: one.Status, RetryCount: one.Retries, MaxRetries: one.Most, RunID: one.RunID,
			Result: coordination.Head(one.Snapshot, maxResult), Error: coordination.Head(one.Error, maxResult), Note: coordination.Head(one.Note, maxResult),
		})
	}
	if len(all) > 0 {
		summary := task.Summarize(all)
		shown.Summary = &summary
	}
	return shown
}

// shorten cuts the texts of a task that is too long for an answer.
func (s *taskShown) shorten() {
	s.Shortened = true
	for _, text := range []*string{&s.Description, &s.Context, &s.BlockedReason, &s.UnblockedAction} {
		*text = coordination.Head(*text, maxShortened)
	}
	s.Outcome = nil
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Content = brief(s.Steps[i].Content)
	}
	s.Progress = slices.Clone(s.Progress)
	for i := range s.Progress {
		s.Progress[i] = brief(s.Progress[i])
	}
	for i := range s.Delegations {
		one := &s.Delegations[i]
		one.Result, one.Error, one.Note = brief(one.Result), brief(one.Error), brief(one.Note)
	}
}

// lastLines returns the last lines of progress, as many as an answer shows.
func lastLines(lines []string) []string {
	first, bytes := len(lines), 0
	for first > 0 && len(lines)-first < maxLines && bytes+len(lines[first-1]) <= maxLinesBytes {
		first--
		bytes += len(lines[first])
	}
	return lines[first:]
}

type summaryAnswer struct {
	Success      bool           `json:"success"`
	ByStatus     map[string]int `json:"byStatus"`
	CurrentFocus *string        `json:"currentFocus"`
	Total        int            `json:"total"`
	Tasks        []briefTask    `json:"tasks"` // the first ones
}

type briefTask struct {
	TaskID      string `json:"taskId"`
	Status      string `json:"status"`
	Priority    string `json:"priority"`
	Description string `json:"description"` // shortened
}

const (
	maxSummary      = 50
	maxSummaryBrief = 50 // characters
)

func (s *Service) summary(ctx context.Context, agent string) (tool.Output, error) {
	open := true
	var rows []tasks.Row
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		rows, _, err = tasks.List(ctx, tx, tasks.Filter{Agents: []string{agent}, Open: &open, Limit: task.MaxOpen})
		return err
	})
	if err != nil {
		return tool.Output{}, err
	}
	answer := summaryAnswer{Success: true, Total: len(rows), Tasks: []briefTask{}, ByStatus: map[string]int{coordination.StateInProgress: 0,
		coordination.StatePending: 0, coordination.StatePendingApproval: 0, coordination.StateBlocked: 0}}
	for i := range rows {
		row := &rows[i]
		answer.ByStatus[row.Status]++
		if row.Focus {
			answer.CurrentFocus = &row.ID
		}
		if i < maxSummary {
			answer.Tasks = append(answer.Tasks, briefTask{row.ID, row.Status, row.Priority, coordination.Head(row.Description, maxSummaryBrief)})
		}
	}
	return tools.Answer(answer)
}
