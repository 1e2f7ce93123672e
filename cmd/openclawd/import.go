package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
)

type importFlags struct {
	db, config, classifier string
	asJSON                 bool
}

func newImport(p *process) *cobra.Command {
	var im importFlags
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import coordination logs or a full export into the database",
		Long: `Imports NDJSON logs in the order given, which should be oldest first. Importing the same lines again, whole or split over other files, adds
nothing. An invalid line never stops the import: it is counted, reported, and kept as an import.rejected event. A full export (openclawd
export --format full) is restored exactly, including hashes, if it starts right after the last event of the database.

Creates the database if there is none. A running server locks the file: stop it first, or let it import the logs of its state directory.`,
		Example: `  openclawd import ~/.openclaw/logs/coordination-events-2026-01.ndjson ~/.openclaw/logs/coordination-events.ndjson
  openclawd import --config ~/.openclaw/openclaw.json --db team.db events.ndjson
  openclawd import --db restored.db backup.ndjson`,
		Args: positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error { return p.importFiles(cmd.Context(), im, files) },
	}
	addPlace(cmd, &im.db)
	addClassifier(cmd, &im.classifier)
	cmd.Flags().StringVar(&im.config, "config", "", "openclaw.json `FILE` that defines the team; omit it when restoring a full export")
	cmd.Flags().BoolVar(&im.asJSON, jsonFlag, false, "print the report as JSON")
	return cmd
}

func (p *process) importFiles(ctx context.Context, im importFlags, files []string) error {
	rules, err := parseClassifier(im.classifier)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := checkLog(file); err != nil {
			return err
		}
	}
	defer limitMemory(importMemory)()
	log, err := p.openWithTables(ctx, im.db, "import", rules)
	if err != nil {
		return err
	}
	defer log.Close()
	if im.config != "" {
		team, err := readTeam(im.config, p.getenv, slog.New(slog.NewTextHandler(p.stderr, nil)))
		if err != nil {
			return err
		}
		if _, err := database.ApplyTeam(ctx, log, team); err != nil {
			return err
		}
	}
	report, err := p.importInto(ctx, log, files)
	if err != nil {
		return err
	}
	if im.asJSON {
		err = output.JSON(p.stdout, report)
	} else {
		err = p.writeReport(&report)
	}
	return cmp.Or(err, log.Close())
}

// openWithTables opens or creates a database for writing, with current tables.
func (p *process) openWithTables(ctx context.Context, db, owner string, rules coordination.Rules) (*sqlite.DB, error) {
	log, err := p.openToWrite(ctx, db, owner)
	if err != nil {
		return nil, err
	}
	engine, err := projections.Start(ctx, log, database.Projections(rules), projections.Options{Rules: rules, Now: p.now})
	if err == nil {
		err = p.refreshTables(ctx, engine)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// checkLog checks a file before the import starts, so that one wrong name among many does not leave a partial import.
func checkLog(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("import: %s is a directory: name the log files in it", file)
	}
	return nil
}

// refreshTables rebuilds projections made by another version of openclawd, or with another classifier, so that the import
// updates current tables.
func (p *process) refreshTables(ctx context.Context, engine *projections.Engine) error {
	stale, err := engine.Stale(ctx)
	if err != nil || len(stale) == 0 {
		return err
	}
	bar := p.eventProgress("rebuild")
	defer bar.end()
	return engine.Rebuild(ctx, projections.RebuildOptions{Names: stale, Progress: bar.update})
}

// importMemory is how much memory Go shall use for an import, in bytes. SQLite's caches and the program itself take as much again.
const importMemory = 76 << 20

// limitMemory has Go collect garbage so often that it keeps to a limit, unless GOMEMLIMIT sets one.
func limitMemory(bytes int64) (undo func()) {
	before := debug.SetMemoryLimit(-1)
	if before != math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}

func (p *process) importInto(ctx context.Context, log *sqlite.DB, files []string) (ndjson.Report, error) {
	bar := p.byteProgress("import")
	defer bar.end()
	var size, done int64 // total bytes of all files; bytes of the files before the current one
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	file := 1
	importer := database.NewImporter(log, slog.New(slog.DiscardHandler), func(at ndjson.Progress) {
		if at.File != file {
			if info, err := os.Stat(files[file-1]); err == nil {
				done += info.Size()
			}
			file = at.File
		}
		bar.update(done+at.Bytes, size)
	})
	return importer.ImportFiles(ctx, files)
}

func (p *process) writeReport(report *ndjson.Report) error {
	row := func(name string, r *ndjson.FileReport) []string {
		return []string{name, output.Thousands(r.Lines), output.Thousands(r.New), output.Thousands(r.Duplicates), output.Thousands(r.RejectedLines())}
	}
	var rows [][]string
	for i := range report.Files {
		rows = append(rows, row(filepath.Base(report.Files[i].Name), &report.Files[i]))
	}
	total := report.Total()
	if len(report.Files) > 1 {
		rows = append(rows, row("total", &total))
	}
	if err := output.Table(p.stdout, []string{"FILE", "LINES", "NEW", "DUPLICATES", "REJECTED"}, rows); err != nil {
		return err
	}
	if total.RejectedLines() > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(total.Rejected)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, total.Rejected[reason]))
		}
		fmt.Fprintf(p.stdout, "rejected: %s (openclawd events query --type import.rejected shows them)\n", strings.Join(reasons, ", "))
	}
	if total.Restored > 0 {
		fmt.Fprintf(p.stdout, "restored exactly: %s\n", output.Count(total.Restored, "event"))
	}
	if total.Lost > 0 {
		fmt.Fprintf(p.stdout, "skipped: %s without a payload, which can be restored into an empty database only\n", output.Count(total.Lost, "redacted event"))
	}
	for i := range report.Files {
		if f := &report.Files[i]; f.Tail > 0 {
			fmt.Fprintf(p.stdout, "%s: incomplete last line of %s ignored\n", filepath.Base(f.Name), output.Count(f.Tail, "byte"))
		}
	}
	return nil
}
