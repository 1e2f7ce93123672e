package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/flows"
)

func newA2A(p *process) *cobra.Command {
	return newGroup("a2a", "Inspect and cancel flows between agents",
		newA2AList(p), newA2AShow(p), newA2ACancel(p), newA2AHandoffs(p))
}

type flowListFlags struct {
	listFlags
	kind, from, to            string
	conversation, workSession string
	open                      bool
}

func newA2AList(p *process) *cobra.Command {
	var l flowListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List flows between agents, newest first",
		Long: `Lists flows between agents, from the database; works with or without a running server. A flow is a message from one agent to another with
everything that follows from it (send), or work given to a sub-agent (spawn). An open flow waits for a permit of its target (dispatching), for
the first answer (waiting), for ping-pong turns (turn), or for its announcement to be posted (announcing, posting); a finished one has an outcome.

The log, the API and the database call a flow a job: JOB is its id. Messages between agents of an imported log belong to no flow;
openclawd trace shows them.`,
		Example: `  openclawd a2a list
  openclawd a2a list --open --to seum
  openclawd a2a list --work-session ws_1 --kind send --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listFlows(cmd.Context(), l) },
	}
	flags := cmd.Flags()
	l.add(cmd)
	flags.StringVar(&l.kind, "kind", "", "filter by `KIND`: send, spawn")
	flags.StringVar(&l.from, "from", "", "filter by `ID` of the requesting agent")
	flags.StringVar(&l.to, "to", "", "filter by `ID` of the target agent")
	flags.StringVar(&l.conversation, "conversation", "", "filter by conversation `ID`")
	flags.StringVar(&l.workSession, "work-session", "", "filter by work session `ID`")
	flags.BoolVar(&l.open, "open", false, "only open flows")
	p.completeFlag(cmd, "kind", func(context.Context) []cobra.Completion {
		return []cobra.Completion{string(a2a.Send), string(a2a.Spawn)}
	})
	for _, agent := range []string{"from", "to"} {
		p.completeFlag(cmd, agent, func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	}
	return cmd
}

// query builds the query from the flags.
func (l *flowListFlags) query() (q flows.Query, err error) {
	if err := l.check(); err != nil {
		return q, err
	}
	kind := a2a.Kind(l.kind)
	if kind != "" && kind != a2a.Send && kind != a2a.Spawn {
		return q, &config.SettingError{Setting: "--kind", Value: l.kind, HintText: "choose from send, spawn"}
	}
	return flows.Query{Kind: kind, Open: l.open, From: strings.ToLower(l.from), To: strings.ToLower(l.to), ConversationID: l.conversation,
		WorkSessionID: strings.TrimPrefix(l.workSession, "ws:"), Limit: l.limit}, nil
}

func (p *process) listFlows(ctx context.Context, l flowListFlags) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	flowList := list[flows.Row, monitor.FlowAnswer]{
		read:     func(ctx context.Context, tx *sql.Tx) ([]flows.Row, error) { return flows.List(ctx, tx, q) },
		name:     "jobs",
		answer:   monitor.FlowAnswerOf,
		thing:    "flow",
		none:     "no flows yet: agents start them with the tool sessions_send, and so can you; see openclawd tools call --help",
		noMatch:  "no matching flows; try: openclawd a2a list",
		filtered: l.kind+l.from+l.to+l.conversation+l.workSession != "" || l.open,
		head:     []string{"JOB", "KIND", "WHO", "STATE", "ASKED", "TOOK", "MESSAGE"},
		row: func(r *flows.Row, now time.Time) []string {
			return []string{r.JobID, string(r.Kind), r.FromAgent + " → " + r.ToAgent, flowState(r), ago(now, time.UnixMilli(r.CreatedAt)), lasted(r, now),
				output.Cut(output.Printable(r.Preview), previewCells)}
		},
	}
	return flowList.print(ctx, p, &l.listFlags)
}

const previewCells = 60 // terminal width

// flowState describes the state of a flow in a word or two: what it waits for, or its outcome.
func flowState(r *flows.Row) string {
	switch {
	case r.Phase == a2a.Over:
		return r.Outcome
	case r.Phase == a2a.Turn:
		return fmt.Sprintf("turn %d/%d", r.Turn, r.EffectiveTurns)
	case r.Phase == a2a.Waiting && r.Attempt > 1:
		return fmt.Sprintf("waiting (attempt %d)", r.Attempt)
	}
	return string(r.Phase)
}

// lasted is the duration of a flow, up to now if it is open.
func lasted(r *flows.Row, now time.Time) string {
	if r.EndedAt > 0 {
		return output.Duration(r.EndedAt - r.CreatedAt)
	}
	return output.Duration(now.UnixMilli() - r.CreatedAt)
}
