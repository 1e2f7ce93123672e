package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/runs"
)

func newRunsShow(p *process) *cobra.Command {
	var s readFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run and its answer",
		Long: `Shows when a run was requested, when it started and ended, its outcome, and its final or partial answer. Everything else that it said is in
the session: openclawd sessions show.`,
		Example:           "  openclawd runs show 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd runs show my-key-1 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.showRun(cmd.Context(), s, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeRuns(ctx, s.stateDir, s.db, nil) }),
	}
	s.add(cmd)
	return cmd
}

// shownRun is the JSON output of runs show.
type shownRun struct {
	runAnswer
	Over     *coordination.RunOver `json:"over"`     // null: not finished
	Question monitor.RunText       `json:"question"` // this and calls as GET /api/runs/:id has them
	Calls    []monitor.RunCall     `json:"calls"`
	CallsCut bool                  `json:"callsCut,omitempty"`
}

func (p *process) showRun(ctx context.Context, s readFlags, id string) error {
	if s.asJSON {
		return p.tellRun(ctx, s, id)
	}
	r, err := p.findRun(ctx, s.stateDir, s.db, id)
	if err != nil {
		return err
	}
	return p.writeRun(r)
}

// tellRun writes a run, with what was said in it, as JSON.
func (p *process) tellRun(ctx context.Context, s readFlags, id string) error {
	log, err := p.openPlace(ctx, s.stateDir, s.db)
	if err != nil {
		return err
	}
	defer log.Close()
	var shown shownRun
	err = log.View(ctx, func(tx *sql.Tx) error {
		r, found, err := runs.ByID(ctx, tx, id)
		if err != nil || !found {
			return cmp.Or(err, unknownRun(id))
		}
		w, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		told, err := monitor.RunTelling(ctx, tx, &r, w, log.EventsIn)
		if err != nil {
			return err
		}
		shown = shownRun{runAnswerOf(&r), cmp.Or(told.Over, r.Over), told.Question, told.Calls, told.CallsCut}
		return nil
	})
	if err != nil {
		return err
	}
	return output.JSON(p.stdout, shown)
}

func unknownRun(id string) error {
	return unknown("run", id, "no_run", "openclawd runs lists the runs")
}

// findRun reads a run from the database.
func (p *process) findRun(ctx context.Context, stateDir, db, id string) (*run.Result, error) {
	var r run.Result
	found := false
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) (err error) {
		r, found, err = runs.ByID(ctx, tx, id)
		return err
	})
	if err == nil && !found {
		err = unknownRun(id)
	}
	return &r, err
}

func (p *process) writeRun(r *run.Result) error {
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
	if err := p.writePairs(output.Printable, rows); err != nil {
		return err
	}
	if over.Text == "" {
		return nil
	}
	_, err := fmt.Fprintf(p.stdout, "\n%s\n", steerless(strings.TrimRight(over.Text, " \n")))
	return err
}

// completeRuns completes ids of the newest runs in the given states.
func (p *process) completeRuns(ctx context.Context, stateDir, db string, states []run.State) (ids []cobra.Completion) {
	const shown = 20
	return completeFrom(ctx, p, stateDir, db, func(tx *sql.Tx) ([]run.Result, error) {
		return runs.List(ctx, tx, runs.Query{States: states, Limit: shown})
	},
		func(r *run.Result) (id, what string) { return r.RunID, r.SessionKey + " " + string(r.State) })
}
