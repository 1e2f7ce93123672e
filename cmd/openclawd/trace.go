package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// tracing holds the flags of trace.
type tracing struct {
	stateDir, db    string
	asJSON, mermaid bool
}

func newTrace(p *process) *cobra.Command {
	var t tracing
	cmd := &cobra.Command{
		Use:   "trace ID",
		Short: "Show what led to what: runs, messages between agents, sub-agents",
		Long: `Shows a tree: who asked which agent, which flows (messages to other agents, and delegations) that run began, which runs answered in those,
what these began, and so on. ID is that of a work session, a conversation, a flow (its job), a run, or of an event, which may also be
given by its number in the log. The beginning of an id is enough where nothing else begins so. Of a work session everything is shown,
else what ID names, what that led to, and what it comes from.

waited is the time in a queue: for a permit of the agent that was asked, or behind other runs. It is no part of the time that a run
ran. late is an answer that came when its flow was over. Times are UTC. Works beside a running server and without one; of an imported log
the tree is made of its a2a.* events.`,
		Example: `  openclawd trace ws_6bd56a9f-6a84-479f-8127-c4b06365f0b9
  openclawd trace 6bd56a9f --json
  openclawd trace 4711                       # the event of that number
  openclawd trace 6bd56a9f --mermaid > trace.mmd`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.trace(cmd.Context(), t, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeRuns(cmd.Context(), t.stateDir, t.db, nil), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addSessionsPlace(cmd, &t.stateDir, &t.db)
	cmd.Flags().BoolVar(&t.asJSON, jsonFlag, false, "answer in JSON")
	cmd.Flags().BoolVar(&t.mermaid, "mermaid", false, "answer as a Mermaid sequence diagram")
	return cmd
}

func (p *process) trace(ctx context.Context, t tracing, id string) error {
	if t.asJSON && t.mermaid {
		return &usageError{command: "openclawd trace", err: errors.New("--json and --mermaid are two answers: give one of them")}
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
		return writeMermaid(p.stdout, found)
	}
	return writeTrace(p.stdout, found)
}
