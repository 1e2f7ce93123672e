package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

func newTasksShow(p *process) *cobra.Command {
	var s readFlags
	cmd := &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task with its steps, its progress and its delegations",
		Long: `Shows the state or outcome of a task, its steps, its progress notes and the work delegated to sub-agents. Its events and their consequences are
shown by openclawd trace with the task's work session.

Exit codes: 0 shown; 1 no such task.`,
		Example:           "  openclawd tasks show task_aa11\n  openclawd tasks show task_aa11 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.showTask(cmd.Context(), s, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeTasks(ctx, s.stateDir, s.db) }),
	}
	s.add(cmd)
	return cmd
}

// shownTask is the JSON output of tasks show.
type shownTask struct {
	Task monitor.TaskAnswer `json:"task"`
}

func (p *process) showTask(ctx context.Context, s readFlags, id string) error {
	var row *tasks.Row
	err := p.readSessions(ctx, s.stateDir, s.db, func(tx *sql.Tx) error {
		found := false
		var err error
		if row, found, err = tasks.ByID(ctx, tx, id); err == nil && !found {
			err = unknown("task", id, "no_task", "openclawd tasks --all lists all tasks")
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.asJSON {
		return output.JSON(p.stdout, shownTask{monitor.TaskAnswerOf(row)})
	}
	return p.writeTask(row)
}

func (p *process) writeTask(r *tasks.Row) error {
	ended := ""
	if r.EndedMs > 0 {
		ended = output.Time(r.EndedMs)
	}
	err := p.writePairs(output.Printable, [][2]string{{"task", r.ID}, {"agent", r.AgentID}, {"status", taskStanding(r)}, {"priority", r.Priority}, {"source", r.Source},
		{"work session", r.WorkSessionID}, {"before it", r.PreviousWorkSessionID}, {"session", r.CreatedBySessionKey}, {"added by", r.CreatedBy},
		{"depends on", strings.Join(r.DependsOn, ", ")}, {"effort", r.EstimatedEffort}, {"starts", r.StartDate}, {"due", r.DueDate},
		{"blocked", r.BlockedReason}, {"unblocked by", strings.Join(r.UnblockedBy, ", ")}, {"who are to", r.UnblockedAction},
		{"created", timeOf(r.Created)}, {"last active", timeOf(r.LastActivity)}, {"ended", ended}, {"outcome", outcomeOf(&r.Task)}})
	if err != nil {
		return err
	}
	for _, text := range []struct{ head, text string }{{"DESCRIPTION", r.Description}, {"CONTEXT", r.Context}} {
		if err := p.writeText(text.head, text.text); err != nil {
			return err
		}
	}
	if len(r.Steps) > 0 {
		steps := make([][]string, len(r.Steps))
		for i, step := range r.Steps {
			steps[i] = []string{output.Printable(step.ID), output.Printable(step.Status), oneLine(step.Content)}
		}
		if err := p.writeBelow([]string{"STEP", "STATUS", "WHAT"}, steps); err != nil {
			return err
		}
	}
	if rows := delegationsOf(&r.Task); len(rows) > 0 {
		if err := p.writeBelow([]string{"DELEGATION", "AGENT", "STATUS", "RETRIES", "WHAT"}, rows); err != nil {
			return err
		}
	}
	return p.writeText("PROGRESS", strings.Join(r.Progress, "\n"))
}

// timeOf formats a textual time like the other times of the output; an invalid one is returned as it is.
func timeOf(text string) string {
	ms, ok := coordination.ParseTime(text)
	if !ok {
		return text
	}
	return output.Time(int64(ms))
}

// outcomeOf describes the outcome of a task, and the reason.
func outcomeOf(t *taskfile.Task) string {
	var o struct{ Kind, Summary, Reason, Error string }
	if json.Unmarshal(t.Outcome, &o) != nil {
		return ""
	}
	for _, why := range []string{o.Summary, o.Reason, o.Error} {
		if why != "" {
			return o.Kind + ": " + oneLine(why)
		}
	}
	return o.Kind
}

// delegationsOf extracts the delegations of a task, as far as readable: task files contain them in any shape.
func delegationsOf(t *taskfile.Task) (rows [][]string) {
	var list []struct {
		ID      string `json:"delegationId"`
		Agent   string `json:"targetAgentId"`
		Status  string `json:"status"`
		Retries int    `json:"retryCount"`
		Most    int    `json:"maxRetries"`
		Work    string `json:"task"`
	}
	if json.Unmarshal(t.Delegations, &list) != nil {
		return nil
	}
	for _, d := range list {
		retries := ""
		if d.Most > 0 {
			retries = fmt.Sprintf("%d/%d", d.Retries, d.Most)
		}
		rows = append(rows, []string{output.Printable(d.ID), output.Printable(d.Agent), output.Printable(d.Status), retries,
			output.Cut(oneLine(d.Work), previewCells)})
	}
	return rows
}

// oneLine is a text of several lines on one line for a terminal.
func oneLine(text string) string { return output.Printable(strings.Join(strings.Fields(text), " ")) }

// writeText writes lines under a heading, below a blank line; nothing if there are none.
func (p *process) writeText(head, text string) error {
	if text == "" {
		return nil
	}
	lines := []string{"", head}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, output.Printable(line))
	}
	_, err := fmt.Fprintln(p.stdout, strings.Join(lines, "\n"))
	return err
}

// completeTasks completes ids of unfinished tasks.
func (p *process) completeTasks(ctx context.Context, stateDir, db string) (ids []cobra.Completion) {
	const shown = 50
	open := true
	return completeFrom(ctx, p, stateDir, db, func(tx *sql.Tx) ([]tasks.Row, error) {
		list, _, err := tasks.List(ctx, tx, tasks.Filter{Open: &open, Limit: shown})
		return list, err
	}, func(r *tasks.Row) (id, what string) {
		return output.Printable(r.ID), output.Printable(r.AgentID) + ": " + output.Cut(oneLine(r.Title()), previewCells)
	})
}
