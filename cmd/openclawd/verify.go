package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/verify"
	"github.com/pronto-lab/openclawd/server"
)

type verifyFlags struct {
	db, stateDir  string
	only          []string
	chain, asJSON bool
}

func newVerify(p *process) *cobra.Command {
	var v verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the log and everything derived from it",
		Long: `Reads the whole log and verifies, part by part:

  chain     the log has no gaps and is in order, every payload matches its hash, every hash links to the one before it; the append-only
            triggers exist and SQLite reports no damage
  archives  each matches its manifest, and belongs to this log
  tables    they match a rebuild, row by row; for that a temporary file is made in the system's temporary directory
  files     the Markdown files of tasks match the log; edits by people are reported separately
  mirror    the coordination logs contain each of openclawd's events once, in order, as written; those of redacted events are blank

Files and mirror are verified if the database belongs to its state directory: the default one, or the one that --state-dir names. They are
skipped for a backup or any other file. Works beside a running server, and changes nothing.

Exit codes: 0 all verified; 1 a part failed, with the code of the first one that did: tampered, corrupt, archived or schema for the chain, then
archive_damaged, tables_differ, files_differ, mirror_differs; 75 a redaction is not finished, or interrupted.`,
		Example: `  openclawd verify
  openclawd verify --chain --json                # the log alone, without SQLite's structure and the triggers
  openclawd verify --only tables,mirror --state-dir ./team
  openclawd verify --db backups/openclawd-20260220T120000Z-4711.db`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.verify(cmd.Context(), v) },
	}
	addDB(cmd, &v.db)
	flags := cmd.Flags()
	flags.StringVar(&v.stateDir, "state-dir", "", "OpenClaw's state `DIR` of the database (default ~/.openclaw, without --db)")
	flags.BoolVar(&v.chain, "chain", false, "only the log: skip SQLite's own structure, the append-only triggers and all other parts")
	flags.StringSliceVar(&v.only, "only", nil, "verify these `PARTS`: chain, archives, tables, files, mirror")
	flags.BoolVar(&v.asJSON, jsonFlag, false, "print JSON")
	p.completeFlag(cmd, "only", func(context.Context) (words []cobra.Completion) {
		for _, part := range verify.Parts() {
			words = append(words, cobra.Completion(part))
		}
		return words
	})
	return cmd
}

func (p *process) verify(ctx context.Context, v verifyFlags) error {
	o := verify.Options{Now: p.now, ChainOnly: v.chain}
	var err error
	if o.Only, err = partsOf(v); err != nil {
		return err
	}
	db, err := p.verifiedFile(&v, &o)
	if err != nil {
		return err
	}
	log, err := p.openToRead(ctx, db)
	if err != nil {
		return err
	}
	defer log.Close()
	o.Log = log
	o.Rules = database.Rules(ctx, log) // the classifier that the tables were made with
	bars := &partBars{p: p}
	o.Progress = bars.update
	report, err := verify.Run(ctx, o)
	bars.end()
	if ctx.Err() != nil {
		return err
	}
	write := p.writeVerification
	if v.asJSON {
		write = func(r *verify.Report) error { return output.JSON(p.stdout, r) }
	}
	return errors.Join(write(report), err)
}

func partsOf(v verifyFlags) (only []verify.Part, err error) {
	switch {
	case v.chain && v.only != nil:
		return nil, &usageError{command: "openclawd verify", err: errors.New("--chain selects parts, as does --only: give one of the two")}
	case v.chain:
		return []verify.Part{verify.Chain}, nil
	}
	for _, name := range v.only {
		part := verify.Part(strings.TrimSpace(name))
		if !slices.Contains(verify.Parts(), part) {
			return nil, &config.SettingError{Setting: "--only", Value: name, HintText: "name some of chain, archives, tables, files, mirror, separated by commas"}
		}
		only = append(only, part)
	}
	return only, nil
}

// verifiedFile is the database to verify; for that of a state directory it also prepares the parts beside it.
func (p *process) verifiedFile(v *verifyFlags, o *verify.Options) (db string, err error) {
	stateDir := v.stateDir
	if stateDir == "" {
		if v.db != "" {
			o.Alone = "unknown state directory: name it with --state-dir"
			return v.db, nil
		}
		if stateDir, err = p.stateDir(); err != nil {
			return "", err
		}
	}
	if db = v.db; db == "" {
		db = filepath.Join(stateDir, database.Name)
	}
	o.StateDir = stateDir
	program := server.New(server.Options{StateDir: stateDir, DB: db, Rules: coordination.RulesV2, Now: p.now, Logger: slog.New(slog.DiscardHandler), Getenv: p.getenv})
	o.CheckFiles = program.CheckTaskFiles
	return db, nil
}

// partBars shows the progress of each part.
type partBars struct {
	p    *process
	part verify.Part
	bar  *progress
}

func (b *partBars) update(part verify.Part, done, total int64) {
	if b.part != part {
		b.end()
		b.part, b.bar = part, b.p.eventProgress("verify "+string(part))
		if part == verify.Mirror {
			b.bar = b.p.byteProgress("verify " + string(part))
		}
	}
	b.bar.update(done, total)
}

func (b *partBars) end() {
	if b.bar != nil {
		b.bar.end()
	}
}

func (p *process) writeVerification(r *verify.Report) error {
	var text strings.Builder
	for i := range r.Parts {
		o := &r.Parts[i]
		if o.Part == verify.Chain && o.State == verify.OK {
			writeChain(&text, r.Verification)
			continue
		}
		if o.State != verify.Skipped || o.Why != verify.NotRequested {
			writePart(&text, o)
		}
	}
	_, err := fmt.Fprint(p.stdout, text.String())
	return err
}

func writeChain(w *strings.Builder, found *sqlite.Verification) {
	if found.Events == 0 {
		fmt.Fprintln(w, "ok: the log is empty")
	} else {
		fmt.Fprintf(w, "ok: %s in %s\n", output.Count(found.Events, "event"), output.Count(found.Streams, "stream"))
		fmt.Fprintf(w, "  no gaps: seq 1 to %s, recorded times never decrease, every stream counts 1, 2, 3\n", output.Thousands(found.Events))
		archived := ""
		if found.Archived > 0 {
			archived = ", " + output.Thousands(found.Archived) + " read from archives"
		}
		fmt.Fprintf(w, "  unchanged: every payload matches its hash (%s redacted%s), every hash links to the one before\n",
			output.Thousands(found.Redacted), archived)
		fmt.Fprintf(w, "  head: %s\n", found.Head)
	}
	if !found.ChainOnly {
		fmt.Fprintln(w, "  sound: the append-only triggers exist, SQLite's structure check passed")
	}
}

func writePart(w *strings.Builder, o *verify.Outcome) {
	switch o.State {
	case verify.Skipped:
		fmt.Fprintf(w, "%s: left out: %s\n", o.Part, output.Printable(o.Why))
	case verify.OK:
		fmt.Fprintf(w, "%s: ok: %s%s\n", o.Part, successText(o.Part), countsOf(o))
	default:
		fmt.Fprintf(w, "%s: failed: %s%s\n", o.Part, failureText(o), countsOf(o))
	}
	for i := range o.Tables {
		t := &o.Tables[i]
		fmt.Fprintf(w, "  %s of projection %s: %s extra, %s missing, %s changed\n", t.Table, t.Projection,
			output.Thousands(t.Added), output.Thousands(t.Removed), output.Thousands(t.Changed))
	}
	for i := range o.Findings {
		fmt.Fprintf(w, "  - %s\n", output.Printable(o.Findings[i].What))
	}
	if more := o.Found - int64(len(o.Findings)); more > 0 {
		fmt.Fprintf(w, "  and %s more\n", output.Thousands(more))
	}
	for _, note := range o.Notes {
		fmt.Fprintf(w, "  note: %s\n", output.Printable(note))
	}
}

func successText(part verify.Part) string {
	switch part {
	case verify.Archives:
		return "intact, belong to this log"
	case verify.Tables:
		return "match a rebuild"
	case verify.Files:
		return "match the log"
	}
	return "contains each of openclawd's events"
}

func failureText(o *verify.Outcome) string {
	if o.Found == 1 {
		return "one check failed"
	}
	return output.Thousands(o.Found) + " checks failed"
}

// countsOf describes the extent and duration of the checks.
func countsOf(o *verify.Outcome) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.Counts)) {
		parts = append(parts, name+" "+output.Thousands(o.Counts[name]))
	}
	parts = append(parts, (time.Duration(o.ElapsedMs) * time.Millisecond).String())
	return " (" + strings.Join(parts, ", ") + ")"
}
