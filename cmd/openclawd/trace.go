package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/trace"
	"github.com/pronto-lab/openclawd/projections/trace/traceview"
)

type traceFlags struct {
	stateDir, db    string
	asJSON, mermaid bool
}

func newTrace(p *process) *cobra.Command {
	var t traceFlags
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "Show causes and consequences: runs, messages between agents, sub-agents",
		Long: `Shows a tree: who asked which agent, which flows (messages to other agents, and delegations) that run started, which runs answered in those,
what these started, and so on. ID is the id of a work session, a conversation, a flow (its job), a run, or an event, which may also be given by
its number in the log. A unique prefix of an id is enough. For a work session everything is shown, otherwise the named item with its causes and
consequences.

waited is the time in a queue: for a permit of the target agent, or behind other runs. It is not part of a run's duration. late marks an
answer that came when its flow was over. Times are UTC. Works with or without a running server; for an imported log the tree is made from its
a2a.* events.`,
		Example: `  openclawd trace ws_6bd56a9f-6a84-479f-8127-c4b06365f0b9
  openclawd trace 6bd56a9f --json
  openclawd trace 4711                       # the event of that number
  openclawd trace 6bd56a9f --mermaid > trace.mmd`,
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.trace(cmd.Context(), t, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeRuns(ctx, t.stateDir, t.db, nil) }),
	}
	addSessionsPlace(cmd, &t.stateDir, &t.db)
	cmd.Flags().BoolVar(&t.asJSON, jsonFlag, false, "print JSON")
	cmd.Flags().BoolVar(&t.mermaid, "mermaid", false, "print a Mermaid sequence diagram")
	return cmd
}

func (p *process) trace(ctx context.Context, t traceFlags, id string) error {
	if t.asJSON && t.mermaid {
		return &usageError{command: "openclawd trace", err: errors.New("--json and --mermaid exclude each other")}
	}
	var found *trace.Trace
	log, err := p.openPlace(ctx, t.stateDir, t.db)
	if err != nil {
		return err
	}
	defer log.Close()
	err = log.View(ctx, func(tx *sql.Tx) (err error) {
		found, err = trace.Of(ctx, tx, id, trace.Options{Now: p.now().UnixMilli(), Events: log.EventsIn})
		return err
	})
	switch {
	case err != nil:
		return err
	case t.asJSON:
		return output.JSON(p.stdout, found)
	case t.mermaid:
		return traceview.Mermaid(p.stdout, found)
	}
	return traceview.Text(p.stdout, found)
}
