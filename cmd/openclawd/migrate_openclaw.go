package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/migrate"
)

type migrateFlags struct {
	db, from, config string
	only             []string
	dryRun, asJSON   bool
}

func newMigrateOpenClaw(p *process) *cobra.Command {
	var m migrateFlags
	cmd := &cobra.Command{
		Use:   "openclaw",
		Short: "Take over sessions, schedules and permissions from OpenClaw",
		Long: `Reads a state directory of OpenClaw, of any version from 2026.2 to 2026.9, and adds what it says to the database: sessions with their
transcripts, labels and settings, former transcripts, scheduled jobs, people who may write to agents, and coordination logs of ProntoClaw. The
directory is never written, and OpenClaw may be running. Running the command again adds what came since; a run that was interrupted is repeated.

--dry-run only reads, and lists what would be left. What cannot be taken over is listed with place and reason.

Creates the database if there is none. A running server locks the file: stop it first.

Exit codes: 0 everything was taken over; 1 something was left, as listed, or the directory cannot be read.`,
		Example: `  openclawd migrate openclaw --from ~/.openclaw --dry-run
  openclawd migrate openclaw --from ~/.openclaw --state-dir ~/.openclawd
  openclawd migrate openclaw --from ~/.openclaw --state-dir ~/.openclawd --only sessions --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.migrateOpenClaw(cmd.Context(), m) },
	}
	addPlace(cmd, &m.db)
	cmd.Flags().StringVar(&m.from, "from", "", "state `DIR` of OpenClaw (default ~/.openclaw)")
	cmd.Flags().StringVar(&m.config, "config", "", "openclaw.json `FILE` that defines the team (default: that in --from)")
	cmd.Flags().StringSliceVar(&m.only, "only", nil, "`PARTS` to take over: "+strings.Join(migrate.Parts(), ","))
	cmd.Flags().BoolVar(&m.dryRun, "dry-run", false, "read and report, write nothing")
	cmd.Flags().BoolVar(&m.asJSON, jsonFlag, false, "print the report as JSON")
	return cmd
}

func (p *process) migrateOpenClaw(ctx context.Context, m migrateFlags) (err error) {
	if m.from == "" {
		if m.from, err = p.stateDir(); err != nil {
			return err
		}
	}
	o := migrate.Options{From: m.from, Only: m.only, Now: p.now, OpenDatabase: sqlite.OpenCopy}
	file := cmp.Or(m.config, filepath.Join(m.from, "openclaw.json"))
	o.Config = config.ReadDocument(file, p.getenv).Resolved()
	team, err := readTeam(file, p.getenv, slog.New(slog.DiscardHandler))
	if err == nil {
		o.HasAgent = func(id string) bool {
			if len(team.Agents) == 0 { // the one agent of a configuration that names none
				return strings.EqualFold(id, (&config.Config{}).DefaultAgentID())
			}
			return slices.ContainsFunc(team.Agents, func(a coordination.ConfigAgent) bool { return strings.EqualFold(a.ID, id) })
		}
	} else if m.config != "" {
		return err
	}
	if !m.dryRun {
		defer limitMemory(importMemory)()
		log, err := p.openWithTables(ctx, m.db, "migrate openclaw", coordination.RulesV2)
		if err != nil {
			return err
		}
		defer log.Close()
		o.NewImporter = func(progress func(ndjson.Progress)) *ndjson.Importer {
			return database.NewImporter(log, slog.New(slog.DiscardHandler), progress)
		}
		o.Log, o.Record, o.Scratch = log, true, filepath.Dir(log.Path())
	}
	bar := p.byteProgress("migrate")
	o.Progress = bar.update
	report, err := migrate.Run(ctx, o)
	bar.end()
	if err != nil {
		return err
	}
	if m.asJSON {
		err = output.JSON(p.stdout, report)
	} else {
		err = report.Write(p.stdout)
	}
	if err == nil && !report.Complete {
		err = &codedError{text: fmt.Sprintf("%s not taken over", output.Count(report.LeftTotal(), "thing")), code: "migration_incomplete",
			hint: "the report says what, where and why; the rest is stored"}
	}
	return err
}
