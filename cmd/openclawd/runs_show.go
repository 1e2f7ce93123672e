package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	runs "github.com/pronto-lab/openclawd/projections/run"
)

// runShowing holds the flags of runs show.
type runShowing struct {
	stateDir, db string
	asJSON       bool
}

func newRunsShow(p *process) *cobra.Command {
	var s runShowing
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run and what it has said",
		Long: `Shows when a run was asked for, when it began and ended, how, and what it said at the end or until it was stopped. What was said on the
way is in the session: openclawd sessions show.`,
		Example: "  openclawd runs show 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd runs show my-key-1 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showRun(cmd.Context(), s, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeRuns(cmd.Context(), s.stateDir, s.db, nil), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addSessionsPlace(cmd, &s.stateDir, &s.db)
	cmd.Flags().BoolVar(&s.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// shownRun is the answer of runs show.
type shownRun struct {
	runAnswer
	Over *coordination.RunOver `json:"over"` // null: it is not over
}

func (p *process) showRun(ctx context.Context, s runShowing, id string) error {
	r, err := p.findRun(ctx, s.stateDir, s.db, id)
	if err != nil {
		return err
	}
	if s.asJSON {
		return output.JSON(p.stdout, shownRun{runAnswerOf(r), r.Over})
	}
	return p.writeRun(r)
}

// findRun reads a run from the database.
func (p *process) findRun(ctx context.Context, stateDir, db, id string) (*coordrun.Result, error) {
	var r coordrun.Result
	found := false
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) (err error) {
		r, found, err = runs.ByID(ctx, tx, id)
		return err
	})
	if err == nil && !found {
		err = &noRunError{id}
	}
	return &r, err
}

// noRunError says that nobody knows a run.
type noRunError struct{ id string }

func (e *noRunError) Error() string { return fmt.Sprintf("there is no run %q", e.id) }
func (e *noRunError) Code() string  { return "no_run" }
func (e *noRunError) Hint() string  { return "openclawd runs lists them" }

func (p *process) writeRun(r *coordrun.Result) error {
	now := p.now()
	state := string(r.State)
	over := r.Over
	if over == nil {
		over = &coordination.RunOver{}
	}
	if why := over.Reason + over.ErrorClass; why != "" {
		state += " (" + why + ")"
	}
	rows := [][2]string{{"run", r.RunID}, {"session", r.SessionKey}, {"transcript", r.SessionID}, {"agent", r.AgentID}, {"state", state}, {"lane", r.Lane},
		{"cause", r.Cause}, {"asked", output.Time(r.QueuedAt)}, {"waited", waited(r, now)}, {"took", took(r, now)}, {"job", r.JobID},
		{"conversation", r.ConversationID}, {"work session", r.WorkSessionID}, {"asked by", r.ParentRunID}, {"repeats", r.RetryOf}, {"stopped by", over.By}, {"error", over.Error}}
	if over.Model != "" {
		model := over.Provider + "/" + over.Model
		if over.FallbackFrom != "" {
			model += " instead of " + over.FallbackFrom
		}
		rows = append(rows, [2]string{"model", model})
	}
	if over.ModelCalls > 0 {
		rows = append(rows, [2]string{"calls", output.Count(int64(over.ModelCalls), "model call") + ", " + output.Count(int64(over.ToolCalls), "tool call")})
	}
	if u := over.Usage; u != nil {
		rows = append(rows, [2]string{"tokens", fmt.Sprintf("%s read, %s written", output.Thousands(u.Input), output.Thousands(u.Output))})
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-13s %s\n", row[0], output.Printable(row[1])); err != nil {
			return err
		}
	}
	if over.Text == "" {
		return nil
	}
	_, err := fmt.Fprintf(p.stdout, "\n%s\n", steerless(strings.TrimRight(over.Text, " \n")))
	return err
}

// completeRuns lists the newest runs of the database, of the states that are named.
func (p *process) completeRuns(ctx context.Context, stateDir, db string, states []coordrun.State) (ids []cobra.Completion) {
	const shown = 20
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) error {
		list, err := runs.List(ctx, tx, runs.Query{States: states, Limit: shown})
		for i := range list {
			ids = append(ids, cobra.CompletionWithDesc(list[i].RunID, list[i].SessionKey+" "+string(list[i].State)))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
