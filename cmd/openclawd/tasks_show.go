package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/task"
)

// taskShowing holds the flags of tasks show.
type taskShowing struct {
	stateDir, db string
	asJSON       bool
}

func newTasksShow(p *process) *cobra.Command {
	var s taskShowing
	cmd := &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task with its steps, its progress and what is delegated for it",
		Long: `Shows how a task stands or how it ended, its steps, its lines of progress and what sub-agents do for it. Each event of it, and what they
have led to, is told by openclawd trace with the task's work session.

Exit codes: 0 it is shown; 1 there is none.`,
		Example: "  openclawd tasks show task_aa11\n  openclawd tasks show task_aa11 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showTask(cmd.Context(), s, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeTasks(cmd.Context(), s.stateDir, s.db), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addSessionsPlace(cmd, &s.stateDir, &s.db)
	cmd.Flags().BoolVar(&s.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// shownTask is the answer of tasks show.
type shownTask struct {
	Task monitor.TaskAnswer `json:"task"`
}

func (p *process) showTask(ctx context.Context, s taskShowing, id string) error {
	var row *task.Row
	err := p.readSessions(ctx, s.stateDir, s.db, func(tx *sql.Tx) error {
		found := false
		var err error
		if row, found, err = task.ByID(ctx, tx, id); err == nil && !found {
			err = &noTaskError{id}
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

// noTaskError says that nobody knows a task.
type noTaskError struct{ id string }

func (e *noTaskError) Error() string { return fmt.Sprintf("there is no task %q", e.id) }
func (e *noTaskError) Code() string  { return "no_task" }
func (e *noTaskError) Hint() string  { return "openclawd tasks --all lists them" }

func (p *process) writeTask(r *task.Row) error {
	ended := ""
	if r.EndedMs > 0 {
		ended = output.Time(r.EndedMs)
	}
	for _, line := range [][2]string{{"task", r.ID}, {"agent", r.AgentID}, {"status", taskStanding(r)}, {"priority", r.Priority}, {"source", r.Source},
		{"work session", r.WorkSessionID}, {"before it", r.PreviousWorkSessionID}, {"session", r.CreatedBySessionKey}, {"added by", r.CreatedBy},
		{"depends on", strings.Join(r.DependsOn, ", ")}, {"effort", r.EstimatedEffort}, {"starts", r.StartDate}, {"due", r.DueDate},
		{"blocked", r.BlockedReason}, {"unblocked by", strings.Join(r.UnblockedBy, ", ")}, {"who are to", r.UnblockedAction},
		{"created", timeOf(r.Created)}, {"last active", timeOf(r.LastActivity)}, {"ended", ended}, {"outcome", outcomeOf(&r.Task)}} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-13s %s\n", line[0], output.Printable(line[1])); err != nil {
			return err
		}
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

// timeOf writes a time that is written as a text as the other times of the answer are; what is none, as it is.
func timeOf(text string) string {
	ms, ok := coordination.ParseTime(text)
	if !ok {
		return text
	}
	return output.Time(int64(ms))
}

// outcomeOf says how a task has ended, and why.
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

// delegationsOf are the rows of what is delegated for a task, as far as it can be read: files have it in any shape.
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

// oneLine is a text of several lines on one, as a terminal can show it.
func oneLine(text string) string { return output.Printable(strings.Join(strings.Fields(text), " ")) }

// writeText writes lines below a head, with a blank line above it; nothing where there are none.
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

// completeTasks lists the first tasks of the database that are not over.
func (p *process) completeTasks(ctx context.Context, stateDir, db string) (ids []cobra.Completion) {
	const shown = 50
	open := true
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) error {
		list, _, err := task.List(ctx, tx, task.Filter{Open: &open, Limit: shown})
		for i := range list {
			r := &list[i]
			what := output.Printable(r.AgentID) + ": " + output.Cut(oneLine(r.Title()), previewCells)
			ids = append(ids, cobra.CompletionWithDesc(output.Printable(r.ID), what))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
