package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/flows"
)

func newA2AShow(p *process) *cobra.Command {
	var s readFlags
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a flow between agents with its messages and runs",
		Long: `Shows the request, the state or outcome of the flow, the beginning of each answer, and its runs. The full messages are in the
sessions: openclawd sessions show. Causes, consequences and durations are shown by openclawd trace.`,
		Example:           "  openclawd a2a show 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd a2a show 6bd56a9f-6a84-479f-8127-c4b06365f0b9 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.showFlow(cmd.Context(), s, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeFlows(ctx, s.stateDir, s.db, false) }),
	}
	s.add(cmd)
	return cmd
}

// shownFlow is the JSON output of a2a show.
type shownFlow struct {
	Job  monitor.FlowAnswer `json:"job"`
	Runs []runAnswer        `json:"runs"`
}

func (p *process) showFlow(ctx context.Context, s readFlags, id string) error {
	var r flows.Row
	var runs []run.Result
	err := p.readSessions(ctx, s.stateDir, s.db, func(tx *sql.Tx) error {
		row, found, err := flows.ByID(ctx, tx, id)
		if err == nil && !found {
			err = unknown("flow", id, "no_job", "openclawd a2a list lists the flows")
		}
		if err != nil {
			return err
		}
		r = row
		runs, err = monitor.RunsOf(ctx, tx, id)
		return err
	})
	if err != nil {
		return err
	}
	if !s.asJSON {
		return p.writeFlow(&r, runs)
	}
	answer := shownFlow{monitor.FlowAnswerOf(&r), []runAnswer{}}
	for i := range runs {
		answer.Runs = append(answer.Runs, runAnswerOf(&runs[i]))
	}
	return output.JSON(p.stdout, answer)
}

func (p *process) writeFlow(r *flows.Row, runs []run.Result) error {
	now := p.now()
	state := flowState(r)
	if r.Reason != "" && r.Reason != r.Outcome {
		state += " (" + r.Reason + ")"
	}
	turns := ""
	if r.EffectiveTurns > 0 {
		turns = fmt.Sprintf("%d of at most %d", r.Turn, r.EffectiveTurns)
	}
	due := ""
	if r.DueAt > 0 {
		due = output.Time(r.DueAt)
	}
	lines := [][2]string{{"job", r.JobID}, {"kind", string(r.Kind)}, {"who", r.FromAgent + " → " + r.ToAgent}, {"state", state}, {"label", r.Label},
		{"message", r.Preview}, {"intent", r.Intent}, {"payload", r.PayloadType}, {"session", r.RequesterSessionKey}, {"answers in", r.TargetSessionKey},
		{"conversation", r.ConversationID}, {"parent", r.ParentConversation}, {"work session", r.WorkSessionID}, {"task", r.TaskID}, {"turns", turns},
		{"asked", output.Time(r.CreatedAt)}, {"took", lasted(r, now)}, {"due", due}}
	if err := p.writePairs(output.Printable, lines); err != nil {
		return err
	}
	if len(r.Said) > 0 {
		said := make([][]string, len(r.Said))
		for i, one := range r.Said {
			said[i] = []string{one.Agent, one.Text}
		}
		if err := p.writeBelow([]string{"SAID BY", "BEGINNING OF TEXT"}, said); err != nil {
			return err
		}
	}
	if len(runs) == 0 {
		return nil
	}
	rows := make([][]string, len(runs))
	for i := range runs {
		run := &runs[i]
		rows[i] = []string{run.RunID, run.AgentID, string(run.State), ago(now, time.UnixMilli(run.QueuedAt)), waited(run, now), took(run, now)}
	}
	return p.writeBelow([]string{"RUN", "AGENT", "STATE", "ASKED", "WAITED", "TOOK"}, rows)
}

// writeBelow writes a table below a blank line.
func (p *process) writeBelow(head []string, rows [][]string) error {
	if _, err := fmt.Fprintln(p.stdout); err != nil {
		return err
	}
	return output.Table(p.stdout, head, rows)
}

// completeFlows completes ids of the newest flows.
func (p *process) completeFlows(ctx context.Context, stateDir, db string, open bool) (ids []cobra.Completion) {
	const shown = 20
	return completeFrom(ctx, p, stateDir, db, func(tx *sql.Tx) ([]flows.Row, error) {
		return flows.List(ctx, tx, flows.Query{Open: open, Limit: shown})
	},
		func(r *flows.Row) (id, what string) {
			return r.JobID, r.FromAgent + " → " + r.ToAgent + " " + flowState(r)
		})
}
