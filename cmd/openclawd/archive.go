package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
)

func newArchive(p *process) *cobra.Command {
	return newGroup("archive", "Move payloads of old events out of the database into sealed files",
		newArchiveCreate(p), newArchiveList(p), newArchiveVerify(p), newArchiveRestore(p))
}

// archiveRow is an archive as listed.
type archiveRow struct {
	archive.Manifest
	Frames int    `json:"frames"`
	Logged bool   `json:"logged"` // the log records it; else the process was killed before that
	State  string `json:"state"`  // ok; missing: recorded in the log, but the file is gone
}

// archives lists the archives of a database: those present, and those recorded but missing.
func (p *process) archives(ctx context.Context, log *sqlite.DB) ([]archiveRow, error) {
	list, err := database.Archives(log).List()
	if err != nil {
		return nil, err
	}
	rows := make([]archiveRow, len(list))
	for i := range list {
		rows[i] = archiveRow{Manifest: list[i], Frames: len(list[i].Frames), State: "ok"}
	}
	err = log.View(ctx, func(tx *sql.Tx) error {
		logged, err := database.Archived(ctx, tx)
		if err != nil {
			return err
		}
		for _, a := range logged {
			i := slices.IndexFunc(rows, func(r archiveRow) bool { return r.First == a.First && r.Last == a.Last })
			if i < 0 {
				i = len(rows)
				rows = append(rows, archiveRow{State: "missing",
					Manifest: archive.Manifest{File: a.File, First: a.First, Last: a.Last, Events: a.Last - a.First + 1, SHA256: a.SHA256}})
			}
			rows[i].Logged = true
		}
		return nil
	})
	slices.SortStableFunc(rows, func(a, b archiveRow) int { return int(min(max(a.First-b.First, -1), 1)) })
	return rows, err
}

func newArchiveList(p *process) *cobra.Command {
	var (
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the archives of a database, oldest events first",
		Long:    "Lists the archives beside the database, and those that the log records but that are missing.",
		Example: "  openclawd archive list\n  openclawd archive list --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			rows, err := p.archives(cmd.Context(), log)
			switch {
			case err != nil:
				return err
			case asJSON:
				return output.JSON(p.stdout, rows)
			}
			return p.writeArchives(database.Archives(log).Path(), rows)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func (p *process) writeArchives(dir string, list []archiveRow) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(p.stdout, "no archives (%s)\n", dir)
		return err
	}
	rows := make([][]string, len(list))
	for i := range list {
		a := &list[i]
		state, made := a.State, "-"
		if !a.CreatedAt.IsZero() {
			made = output.Time(a.CreatedAt.UnixMilli())
		}
		if !a.Logged {
			state = "not blanked yet"
		}
		rows[i] = []string{a.File, output.Thousands(a.First), output.Thousands(a.Last), output.Bytes(a.RawBytes), output.Bytes(a.Bytes), made, state}
	}
	if err := output.Table(p.stdout, []string{"FILE", "FIRST", "LAST", "RAW", "SIZE", "CREATED", "STATE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "in %s\n", dir)
	return err
}

func newArchiveVerify(p *process) *cobra.Command {
	var (
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Verify that archives are complete and belong to this log",
		Long: `Reads one archive, or all of them, and compares it with its manifest and the log: SHA-256, every payload against its hash, every hash against
the one before it, up to the one in the log. Fails with exit code 1 at the first difference.`,
		Example: "  openclawd archive verify\n  openclawd archive verify 1-50000.ndjson.zst --json",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			return p.verifyArchives(cmd.Context(), log, files, asJSON)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func (p *process) verifyArchives(ctx context.Context, log *sqlite.DB, files []string, asJSON bool) error {
	rows, err := p.archives(ctx, log)
	if err != nil {
		return err
	}
	dir := database.Archives(log)
	if len(files) > 0 {
		rows = slices.DeleteFunc(rows, func(r archiveRow) bool { return r.File != filepath.Base(files[0]) })
		if len(rows) == 0 {
			return &codedError{text: fmt.Sprintf("no archive %s in %s", strings.TrimSpace(files[0]), dir.Path()), code: "no_archive",
				hint: "openclawd archive list lists the archives"}
		}
	}
	bar := p.eventProgress("verify")
	defer bar.end()
	var total, done int64
	for i := range rows {
		total += rows[i].Events
	}
	for i := range rows {
		r := &rows[i]
		if r.State == "missing" {
			return &eventstore.ArchivedError{First: r.First, Last: r.Last, File: filepath.Join(dir.Path(), r.File), Err: errors.New("the file is missing")}
		}
		if err := archiving.Verify(ctx, log, &r.Manifest); err != nil {
			return err
		}
		done += r.Events
		bar.update(done, total)
	}
	bar.end()
	if asJSON {
		return output.JSON(p.stdout, rows)
	}
	if len(rows) == 0 {
		return p.writeArchives(dir.Path(), nil)
	}
	for i := range rows {
		r := &rows[i]
		if _, err := fmt.Fprintf(p.stdout, "ok: %s: %s, unchanged, belongs to this log; SHA-256 %s\n", r.File, output.Count(r.Events, "event"), r.SHA256); err != nil {
			return err
		}
	}
	return nil
}

func newArchiveRestore(p *process) *cobra.Command {
	var (
		db, out string
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "restore --out FILE",
		Short: "Write a separate database that contains every archived payload",
		Long: `Writes the log into a new database, with the payloads of all archives restored, and builds its tables: it needs no archives. Redacted
payloads stay redacted. The original database is not changed: its triggers never let a blanked event be written again.

Nothing has to be restored for reading: export, replay, verify, search and the API read archives in place.`,
		Example: "  openclawd archive restore --out whole.db\n  openclawd serve --follow --db whole.db --api 127.0.0.1:0   # inspect it",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("name the new database with --out")}
			}
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			bar := p.eventProgress("restore")
			events, err := archiving.WriteWhole(cmd.Context(), log, out, database.Rules(cmd.Context(), log), p.now, bar.update)
			bar.end()
			if errors.Is(err, os.ErrExist) {
				return &config.SettingError{Setting: "--out", Value: out, Err: os.ErrExist, HintText: "name a file that is not there yet"}
			}
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(p.stdout, struct {
					DB     string `json:"db"`
					Events int64  `json:"events"`
				}{out, events})
			}
			_, err = fmt.Fprintf(p.stdout, "wrote %s to %s, with every payload restored\n", output.Count(events, "event"), out)
			return err
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to create; must not exist")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}
