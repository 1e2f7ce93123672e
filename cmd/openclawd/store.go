package main

import (
	"crypto/rand"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/move"
)

func newStore(p *process) *cobra.Command {
	var f serverFlags
	var r move.Request
	cmd := &cobra.Command{Use: "move --to URL|file", Short: "Move the log to NATS JetStream or Postgres, or back into the file", Long: move.Help,
		Example: "  openclawd store move --to 'nats://n1,n2,n3/team?replicas=3' --dry-run\n  openclawd store move --to file",
		Args:    positional(cobra.NoArgs)}
	addSessionsPlace(cmd, &f.stateDir, &f.db)
	flags := cmd.Flags()
	flags.StringVar(&r.To, "to", "", "`URL` of a shared log, or file")
	flags.StringVar(&r.From, "from", "", "`URL` of the shared log to leave, or file (default: cluster.log of openclaw.json)")
	flags.BoolVar(&r.Relaxed, "relaxed", false, "accept servers that may lose acknowledged events when their power fails")
	flags.BoolVar(&r.DryRun, "dry-run", false, "look at both logs; change nothing")
	flags.BoolVar(&r.NoConfig, "no-config", false, "do not change openclaw.json: say what to change")
	flags.BoolVar(&f.asJSON, jsonFlag, false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		place, err := p.place(f)
		if err != nil {
			return err
		}
		bar := p.eventProgress("move")
		r.DB, r.Now, r.Token, r.Configured, r.Tell = place.DB, p.now, rand.Text(), !flags.Changed("from"), func(_ string, done, total int64) { bar.update(done, total) }
		answer, err := r.Run(cmd.Context(), config.ReadDocument(place.Config.File, p.getenv))
		bar.end()
		switch {
		case err != nil:
			return err
		case f.asJSON:
			return output.JSON(p.stdout, answer)
		}
		return answer.Write(p.stdout, p.stderr)
	}
	return newGroup("store", "Move the log to a shared log of several nodes, and back", cmd)
}
