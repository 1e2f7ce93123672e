package main

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/flows"
)

type handoffListFlags struct {
	listFlags
	agent, workSession string
	open               bool
}

func newA2AHandoffs(p *process) *cobra.Command {
	var l handoffListFlags
	cmd := &cobra.Command{
		Use:   "handoffs",
		Short: "List tasks and questions handed to other agents, with their results, newest first",
		Long: `Lists structured handoffs, from the database; works with or without a running server: delegated tasks with their latest status, and
questions with their answers. Free text messages are not included.`,
		Example: `  openclawd a2a handoffs
  openclawd a2a handoffs --agent seum --open
  openclawd a2a handoffs --work-session ws_1 --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listHandoffs(cmd.Context(), l) },
	}
	flags := cmd.Flags()
	l.add(cmd)
	flags.StringVar(&l.agent, "agent", "", "filter by `ID` of an agent on either side")
	flags.StringVar(&l.workSession, "work-session", "", "filter by work session `ID`")
	flags.BoolVar(&l.open, "open", false, "leave out what was answered or failed")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	return cmd
}

func (p *process) listHandoffs(ctx context.Context, l handoffListFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	q := flows.HandoffQuery{Agent: strings.ToLower(l.agent), WorkSessionID: strings.TrimPrefix(l.workSession, "ws:"), Open: l.open, Limit: l.limit}
	handoffs := list[flows.Handoff, monitor.HandoffAnswer]{
		read:     func(ctx context.Context, tx *sql.Tx) ([]flows.Handoff, error) { return flows.Handoffs(ctx, tx, q) },
		name:     "handoffs",
		answer:   monitor.HandoffAnswerOf,
		thing:    "handoff",
		none:     "no handoffs yet: agents make them with the tool sessions_send and payloadJson",
		noMatch:  "no matching handoffs; try: openclawd a2a handoffs",
		filtered: l.agent+l.workSession != "" || l.open,
		head:     []string{"SUBJECT", "TYPE", "WHO", "STATE", "ASKED", "ANSWERED AFTER", "JOB"},
		row:      handoffRow,
	}
	return handoffs.print(ctx, p, &l.listFlags)
}

const subjectCells = 40 // terminal width

func handoffRow(h *flows.Handoff, now time.Time) []string {
	state, answered := h.State, ""
	if h.Status != "" {
		state += " (" + h.Status + ")"
	}
	if h.AnsweredAt > 0 {
		answered = output.Duration(h.AnsweredAt - h.At)
	}
	return []string{output.Cut(output.Printable(h.Subject), subjectCells), string(h.Type), h.From + " → " + h.To, state, ago(now, time.UnixMilli(h.At)),
		answered, h.JobID}
}
