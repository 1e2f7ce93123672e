package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

func newSandbox(p *process) *cobra.Command {
	f := listFlags{limit: most}
	agent := ""
	explain := &cobra.Command{
		Use:     "explain [AGENT]",
		Short:   "Show what the last probes of agents' sandboxes have found",
		Long:    "Shows what a probe inside of the sandbox of each agent's commands could reach, never the setting. An agent is absent until its first command.",
		Example: "  openclawd sandbox explain\n  openclawd sandbox explain main --json",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				agent = args[0]
			}
			probes := list[sandboxes.Probe, sandboxes.Probe]{
				read: func(ctx context.Context, tx *sql.Tx) ([]sandboxes.Probe, error) {
					return sandboxes.Last(ctx, tx, agent)
				},
				answer: func(e *sandboxes.Probe) sandboxes.Probe { return *e }, name: "probes", thing: "probe", head: sandboxes.Head(),
				none: "no sandbox was probed: no agent has run a command", noMatch: "no sandbox of this agent was probed: it has run no command", filtered: agent != "",
				row: func(e *sandboxes.Probe, _ time.Time) []string { return e.Row() },
			}
			return probes.print(cmd.Context(), p, &f)
		},
	}
	f.readFlags.add(explain)
	return newGroup("sandbox", "Show whether the sandboxes of agents' commands hold", explain)
}
