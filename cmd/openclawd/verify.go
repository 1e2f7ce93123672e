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

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/proof"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// verifying holds the flags of verify.
type verifying struct {
	db, stateDir  string
	only          []string
	chain, asJSON bool
}

func newVerify(p *process) *cobra.Command {
	var v verifying
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the log is what was appended, and that everything else is what the log says",
		Long: `Reads the whole log and proves, part by part:

  chain     the log is gapless and in order, every payload is the one that was hashed, every hash links to the one before it; the
            append-only triggers are there and SQLite finds the file sound
  archives  each is what its manifest says, and of this log
  tables    they are what a rebuild would make, row by row; for that a scratch file is made in the system's temporary directory
  files     the Markdown files of tasks are what the log says; edits of people are told apart
  mirror    the coordination logs have each of our events once, in order, as it was written; those of redacted events are blank

Files and mirror are proved where the database is that of its state directory: the default one, or the one that --state-dir names. They
are left out for a backup or any other file. Works beside a server, and changes nothing.

Exit codes: 0 all of it holds; 1 something does not, and the code is that of the first part that fails: tampered, corrupt, archived or
schema for the chain, then archive_damaged, tables_differ, files_differ, mirror_differs; 75 a redaction is not finished, or interrupted.`,
		Example: `  openclawd verify
  openclawd verify --chain --json                # the log alone, without SQLite's structure and the triggers
  openclawd verify --only tables,mirror --state-dir ./team
  openclawd verify --db backups/openclawd-20260220T120000Z-4711.db`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.verify(cmd.Context(), v) },
	}
	addDB(cmd, &v.db)
	flags := cmd.Flags()
	flags.StringVar(&v.stateDir, "state-dir", "", "OpenClaw's state `DIR` that the database is of (default ~/.openclaw, without --db)")
	flags.BoolVar(&v.chain, "chain", false, "only the log: leave out SQLite's own structure, the append-only triggers and all other parts")
	flags.StringSliceVar(&v.only, "only", nil, "prove these `PARTS`: chain, archives, tables, files, mirror")
	flags.BoolVar(&v.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "only", func(context.Context) (words []cobra.Completion) {
		for _, part := range proof.Parts() {
			words = append(words, cobra.Completion(part))
		}
		return words
	})
	return cmd
}

func (p *process) verify(ctx context.Context, v verifying) error {
	o := proof.Options{Now: p.now, ChainOnly: v.chain}
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
	o.Rules = database.Rules(ctx, log) // those that the tables were made with
	bars := &partBars{p: p}
	o.Progress = bars.tell
	report, err := proof.Run(ctx, o)
	bars.end()
	if ctx.Err() != nil {
		return err
	}
	write := p.writeProof
	if v.asJSON {
		write = func(r *proof.Report) error { return output.JSON(p.stdout, r) }
	}
	return errors.Join(write(report), err)
}

func partsOf(v verifying) (only []proof.Part, err error) {
	switch {
	case v.chain && v.only != nil:
		return nil, &usageError{command: "openclawd verify", err: errors.New("--chain is one of the parts that --only names: give one of the two")}
	case v.chain:
		return []proof.Part{proof.Chain}, nil
	}
	for _, name := range v.only {
		part := proof.Part(strings.TrimSpace(name))
		if !slices.Contains(proof.Parts(), part) {
			return nil, &settings.Error{Setting: "--only", Value: name, Mend: "name some of chain, archives, tables, files, mirror, separated by commas"}
		}
		only = append(only, part)
	}
	return only, nil
}

// verifiedFile is the database to prove, and makes ready what is beside it where it is that of a state directory.
func (p *process) verifiedFile(v *verifying, o *proof.Options) (db string, err error) {
	stateDir := v.stateDir
	if stateDir == "" {
		if v.db != "" {
			o.Alone = "it is not said whose state directory this file belongs to: name it with --state-dir"
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

// partBars shows how far each part is.
type partBars struct {
	p    *process
	part proof.Part
	bar  *progress
}

func (b *partBars) tell(part proof.Part, done, total int64) {
	if b.part != part {
		b.end()
		b.part, b.bar = part, b.p.eventProgress("verify "+string(part))
		if part == proof.Mirror {
			b.bar = b.p.byteProgress("verify " + string(part))
		}
	}
	b.bar.tell(done, total)
}

func (b *partBars) end() {
	if b.bar != nil {
		b.bar.end()
	}
}

func (p *process) writeProof(r *proof.Report) error {
	var text strings.Builder
	for i := range r.Parts {
		o := &r.Parts[i]
		if o.Part == proof.Chain && o.State == proof.OK {
			writeChain(&text, r.Proof)
			continue
		}
		if o.State != proof.Skipped || o.Why != "not asked for" {
			writePart(&text, o)
		}
	}
	_, err := fmt.Fprint(p.stdout, text.String())
	return err
}

func writeChain(w *strings.Builder, found *sqlite.Proof) {
	if found.Events == 0 {
		fmt.Fprintln(w, "ok: the log is empty")
	} else {
		fmt.Fprintf(w, "ok: %s in %s\n", output.Count(found.Events, "event"), output.Count(found.Streams, "stream"))
		fmt.Fprintf(w, "  gapless: seq 1 to %s, recorded times never go back, every stream counts 1, 2, 3\n", output.Thousands(found.Events))
		archived := ""
		if found.Archived > 0 {
			archived = ", " + output.Thousands(found.Archived) + " read from archives"
		}
		fmt.Fprintf(w, "  unchanged: every payload matches its hash (%s redacted%s), every hash links to the one before\n",
			output.Thousands(found.Redacted), archived)
		fmt.Fprintf(w, "  head: %s\n", found.Head)
	}
	if !found.ChainOnly {
		fmt.Fprintln(w, "  sound: the append-only triggers are there, SQLite's structure check passed")
	}
}

func writePart(w *strings.Builder, o *proof.Outcome) {
	switch o.State {
	case proof.Skipped:
		fmt.Fprintf(w, "%s: left out: %s\n", o.Part, output.Printable(o.Why))
	case proof.OK:
		fmt.Fprintf(w, "%s: ok: %s%s\n", o.Part, whatHolds(o.Part), countsOf(o))
	default:
		fmt.Fprintf(w, "%s: failed: %s%s\n", o.Part, whatFails(o), countsOf(o))
	}
	for i := range o.Tables {
		t := &o.Tables[i]
		fmt.Fprintf(w, "  %s of projection %s: %s too many, %s missing, %s changed\n", t.Table, t.Projection,
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

func whatHolds(part proof.Part) string {
	switch part {
	case proof.Archives:
		return "whole, and of this log"
	case proof.Tables:
		return "what a rebuild makes"
	case proof.Files:
		return "what the log says"
	}
	return "each of our events has its line"
}

func whatFails(o *proof.Outcome) string {
	if o.Found == 1 {
		return "one thing does not hold"
	}
	return output.Thousands(o.Found) + " things do not hold"
}

// countsOf says what was looked at, and how long that took.
func countsOf(o *proof.Outcome) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.Counts)) {
		parts = append(parts, name+" "+output.Thousands(o.Counts[name]))
	}
	parts = append(parts, (time.Duration(o.ElapsedMs) * time.Millisecond).String())
	return " (" + strings.Join(parts, ", ") + ")"
}
