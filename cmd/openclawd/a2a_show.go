package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/monitor"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
)

// flowShowing holds the flags of a2a show.
type flowShowing struct {
	stateDir, db string
	asJSON       bool
}

func newA2AShow(p *process) *cobra.Command {
	var s flowShowing
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a flow between agents, what was said in it, and its runs",
		Long: `Shows what was asked for, how the flow stands or ended, how the answers began, and the runs that it has led to. All that was said is in
the sessions: openclawd sessions show. What led to what, and how long each part took, is told by openclawd trace.`,
		Example: "  openclawd a2a show 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd a2a show 6bd56a9f-6a84-479f-8127-c4b06365f0b9 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showFlow(cmd.Context(), s, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeFlows(cmd.Context(), s.stateDir, s.db, false), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addSessionsPlace(cmd, &s.stateDir, &s.db)
	cmd.Flags().BoolVar(&s.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// shownFlow is the answer of a2a show.
type shownFlow struct {
	Job  monitor.FlowAnswer `json:"job"`
	Runs []runAnswer        `json:"runs"`
}

func (p *process) showFlow(ctx context.Context, s flowShowing, id string) error {
	var r flows.Row
	var runs []coordrun.Result
	err := p.readSessions(ctx, s.stateDir, s.db, func(tx *sql.Tx) error {
		row, found, err := flows.ByID(ctx, tx, id)
		if err == nil && !found {
			err = &noFlowError{id}
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

// noFlowError says that nobody knows a flow.
type noFlowError struct{ id string }

func (e *noFlowError) Error() string { return fmt.Sprintf("there is no flow %q", e.id) }
func (e *noFlowError) Code() string  { return "no_job" }
func (e *noFlowError) Hint() string  { return "openclawd a2a list lists them" }

func (p *process) writeFlow(r *flows.Row, runs []coordrun.Result) error {
	now := p.now()
	state := standing(r)
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
	for _, line := range lines {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-13s %s\n", line[0], output.Printable(line[1])); err != nil {
			return err
		}
	}
	if len(r.Said) > 0 {
		said := make([][]string, len(r.Said))
		for i, one := range r.Said {
			said[i] = []string{one.Agent, one.Text}
		}
		if err := p.writeBelow([]string{"SAID BY", "HOW IT BEGINS"}, said); err != nil {
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

// writeBelow writes a table with a blank line above it.
func (p *process) writeBelow(head []string, rows [][]string) error {
	if _, err := fmt.Fprintln(p.stdout); err != nil {
		return err
	}
	return output.Table(p.stdout, head, rows)
}

// completeFlows lists the newest flows of the database.
func (p *process) completeFlows(ctx context.Context, stateDir, db string, open bool) (ids []cobra.Completion) {
	const shown = 20
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) error {
		list, err := flows.List(ctx, tx, flows.Query{Open: open, Limit: shown})
		for i := range list {
			r := &list[i]
			ids = append(ids, cobra.CompletionWithDesc(r.JobID, r.FromAgent+" → "+r.ToAgent+" "+standing(r)))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
