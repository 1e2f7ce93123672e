package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/move"
)

func newStore(p *process) *cobra.Command {
	return newGroup("store", "Move the log to a shared log of several nodes, and back", newStoreMove(p))
}

type storeMoveFlags struct {
	serverFlags
	to, from                string
	relaxed, dryRun, noConf bool
}

func newStoreMove(p *process) *cobra.Command {
	var m storeMoveFlags
	cmd := &cobra.Command{
		Use:   "move --to URL|file",
		Short: "Move the log to NATS JetStream or Postgres, or back into the file",
		Long: `Copies the whole log to where --to says, reads it back and verifies its hash chain, then sets cluster.log in openclaw.json. The log that is left
stays as it is; nodes cannot write to it any more. --to file ends the sharing: the database of this node, brought to the end of the shared log,
is the log again; with --from file, as it is, when the shared log is lost.

  nats://[USER:PASSWORD@]HOST[:4222][,HOST...]/STREAM[?replicas=3]   a stream that does not exist yet is created; tls:// likewise
  postgres://[USER:PASSWORD@]HOST[,HOST...]/DATABASE[?schema=NAME]   likewise the schema, openclawd if none is named

Stop the servers of all nodes first. A move that was interrupted, kill -9 included, is continued by the same command. A target that has another
log, or more events, is refused. Other nodes only need the new cluster.log: what they have stays valid.

Exit codes: 0 done; 1 failed; 75 a server has the database; 78 invalid URL.`,
		Example: `  openclawd store move --to 'nats://n1,n2,n3/team?replicas=3' --dry-run
  openclawd store move --to postgres://openclawd@db/openclawd
  openclawd store move --to file`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.to == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("say where to with --to")}
			}
			return p.moveStore(cmd.Context(), &m, cmd.Flags().Changed("from"))
		},
	}
	addSessionsPlace(cmd, &m.stateDir, &m.db)
	flags := cmd.Flags()
	flags.StringVar(&m.to, "to", "", "`URL` of a shared log, or file")
	flags.StringVar(&m.from, "from", "", "`URL` of the shared log to leave, or file (default: cluster.log of openclaw.json)")
	flags.BoolVar(&m.relaxed, "relaxed", false, "accept servers that may lose acknowledged events when their power fails")
	flags.BoolVar(&m.dryRun, "dry-run", false, "look at both logs; change nothing")
	flags.BoolVar(&m.noConf, "no-config", false, "do not change openclaw.json: print the setting")
	flags.BoolVar(&m.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// ownFile stands for the file of the node alone.
const ownFile = "file"

// moveAnswer is the JSON output of store move.
type moveAnswer struct {
	*move.Report
	*move.Setting
}

func (p *process) moveStore(ctx context.Context, m *storeMoveFlags, fromGiven bool) error {
	place, err := p.place(m.serverFlags)
	if err != nil {
		return err
	}
	configured := place.Config.SharedLog()
	from := configured.URL
	if fromGiven {
		from = m.from
	}
	relaxed := m.relaxed || configured.Relaxed
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the name of this machine: %w", err)
	}
	setting := move.NewSetting(config.ReadDocument(place.Config.File, p.getenv), shared(m.to), relaxed, rand.Text())
	bar := p.eventProgress("")
	o := move.Options{DB: place.DB, From: shared(from), To: shared(m.to), Node: "store move on " + host, Relaxed: relaxed, DryRun: m.dryRun, Now: p.now,
		Tell: func(step string, done, total int64) {
			bar.what = step
			bar.update(done, total)
		}}
	if !m.noConf {
		o.Switch = setting.Write
	}
	report, err := move.Run(ctx, o)
	bar.end()
	if invalid, is := errors.AsType[*eventstore.InvalidError](err); is {
		return &config.SettingError{Setting: invalid.Field, Value: invalid.Value, HintText: invalid.HintText}
	}
	if err != nil {
		return err
	}
	if m.asJSON {
		return output.JSON(p.stdout, moveAnswer{report, setting})
	}
	return p.writeMoved(report, setting)
}

// shared returns the URL of a shared log; "" for the file of a node.
func shared(where string) string {
	if where == ownFile {
		return ""
	}
	return where
}

func (p *process) writeMoved(r *move.Report, s *move.Setting) error {
	for _, doubt := range r.Doubts {
		fmt.Fprintf(p.stderr, "note: %s\n", doubt)
	}
	verb := "moved"
	if r.DryRun {
		verb = "would move"
	}
	fmt.Fprintf(p.stdout, "%s %s from %s to %s; head %.12s\n", verb, output.Count(r.Events+notYet(r), "event"), r.From, r.To, r.Head)
	fmt.Fprintf(p.stdout, "  %s fetched first, %s copied, %s there already\n", output.Thousands(r.Fetched), output.Thousands(r.Copied), output.Thousands(r.Found))
	switch {
	case r.DryRun:
		_, err := fmt.Fprintln(p.stdout, "nothing was changed")
		return err
	case s.Written:
		_, err := fmt.Fprintf(p.stdout, "verified; changed %s\n", s.File)
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "verified; change %s before a server starts: %s\n", s.File, s.Text)
	return err
}

// notYet counts what a dry run has not fetched.
func notYet(r *move.Report) int64 {
	if r.DryRun {
		return r.Fetched
	}
	return 0
}
