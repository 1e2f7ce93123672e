package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
	"github.com/pronto-lab/openclawd/projections"
)

type archiveFlags struct {
	db, before, until, by   string
	keep                    int64
	dryRun, compact, asJSON bool
}

func newArchiveCreate(p *process) *cobra.Command {
	var a archiveFlags
	cmd := &cobra.Command{
		Use:   "create --before TIME|--until SEQ",
		Short: "Move payloads of old events into archives",
		Long: `Moves the payloads of old events into archives beside the database and blanks them there. Each archive is written, synced to disk and read back
before anything is blanked, and the operation is recorded as an event. A run that is killed loses nothing; the next one continues. Archived
payloads are read as before by export, replay, verify, search and the API; SQL shows NULL, and transcripts mark the message as archived.

Never archived: the newest --keep events, and events from the oldest one on that something open still needs: work, runs, flows, tasks, plans,
requests, and what sinks and the search have not read. --dry-run shows that limit. The server must be stopped.`,
		Example: `  openclawd archive create --before 2026-01-01 --dry-run
  openclawd archive create --before 2026-01-01T00:00:00Z --by wooin --compact
  openclawd archive create --until 250000 --keep 100000`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (a.before == "") == (a.until == "") {
				return &usageError{command: cmd.CommandPath(), err: errors.New("say what to archive with --before or --until")}
			}
			return p.archive(cmd.Context(), &a)
		},
	}
	addPlace(cmd, &a.db)
	cmd.Flags().StringVar(&a.before, "before", "", "archive events stored before `TIME`: RFC 3339, a date, or an age such as 720h")
	cmd.Flags().StringVar(&a.until, "until", "", "archive up to event `SEQ`")
	cmd.Flags().Int64Var(&a.keep, "keep", archiving.DefaultKeep, "never archive the newest `N` events")
	cmd.Flags().StringVar(&a.by, "by", "", "`NAME` of the operator, for the log")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "show what would be archived, and what holds back the rest; change nothing")
	cmd.Flags().BoolVar(&a.compact, "compact", false, "then rewrite the database file to return the freed space to the disk")
	cmd.Flags().BoolVar(&a.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// archiveAnswer is the JSON output of archive create.
type archiveAnswer struct {
	*archiving.Plan
	DryRun   bool               `json:"dryRun"`
	Dir      string             `json:"dir"`
	Archives []archive.Manifest `json:"archives"`
	Blanked  int64              `json:"blanked"`
	Before   int64              `json:"bytesBefore"` // of the database file
	After    int64              `json:"bytesAfter"`
}

func (p *process) archive(ctx context.Context, a *archiveFlags) error {
	request := &archiving.Request{Keep: a.keep, By: a.by, Now: p.now}
	if err := p.archiveBounds(a, request); err != nil {
		return err
	}
	open := func() (*sqlite.DB, error) { return p.openExisting(ctx, a.db, "archive create") }
	if a.dryRun {
		open = func() (*sqlite.DB, error) { return p.openToRead(ctx, a.db) }
	}
	log, err := open()
	if err != nil {
		return err
	}
	defer log.Close()
	if rules := database.Rules(ctx, log); !a.dryRun {
		if _, err := projections.Start(ctx, log, database.Projections(rules), projections.Options{Rules: rules, Now: p.now}); err != nil {
			return err
		}
	}
	answer := archiveAnswer{DryRun: a.dryRun, Dir: database.Archives(log).Path(), Archives: []archive.Manifest{}, Before: fileSize(log.Path())}
	if answer.Plan, err = archiving.Prepare(ctx, log, request); err != nil {
		return err
	}
	if !a.dryRun && !answer.Empty() {
		bar := p.eventProgress("archive")
		done, err := archiving.Run(ctx, log, answer.Plan, request, bar.update)
		bar.end()
		if err != nil {
			return err
		}
		answer.Archives, answer.Blanked = append(answer.Archives, done.Archives...), done.Blanked
	}
	if a.compact && !a.dryRun {
		if err := log.Compact(ctx); err != nil {
			return err
		}
	}
	answer.After = fileSize(log.Path())
	if a.asJSON {
		return output.JSON(p.stdout, answer)
	}
	return p.writeArchived(&answer, a.compact)
}

func (p *process) archiveBounds(a *archiveFlags, r *archiving.Request) (err error) {
	if a.keep < 0 {
		return &config.SettingError{Setting: "--keep", Value: strconv.FormatInt(a.keep, 10), HintText: "give the number of newest events to keep, or 0"}
	}
	if a.until != "" {
		if r.Until, err = strconv.ParseInt(a.until, 10, 64); err != nil || r.Until < 1 {
			return &config.SettingError{Setting: "--until", Value: a.until, HintText: "give an event's seq, from 1"}
		}
		return nil
	}
	ms, err := p.parseInstant("--before", a.before)
	if err == nil {
		r.Before = time.UnixMilli(int64(*ms))
	}
	return err
}

func (p *process) writeArchived(a *archiveAnswer, compact bool) error {
	switch {
	case a.Last < a.First && len(a.Archives) == 0:
		fmt.Fprintln(p.stdout, "nothing to archive")
	case a.DryRun:
		fmt.Fprintf(p.stdout, "would archive %s (%s to %s) into %s\n", output.Count(a.Last-a.First+1, "event"), output.Thousands(a.First), output.Thousands(a.Last), a.Dir)
	default:
		var raw, size int64
		for i := range a.Archives {
			m := &a.Archives[i]
			raw, size = raw+m.RawBytes, size+m.Bytes
			fmt.Fprintf(p.stdout, "archived events %s to %s in %s\n", output.Thousands(m.First), output.Thousands(m.Last), m.File)
		}
		fmt.Fprintf(p.stdout, "%s removed from the database, now %s of archives in %s (%s)\n", output.Count(a.Blanked, "payload"), output.Bytes(raw), output.Bytes(size), a.Dir)
	}
	if a.Last < a.Asked {
		p.writeHeldBack(a)
	}
	switch {
	case compact && !a.DryRun:
		fmt.Fprintf(p.stdout, "database file: %s before, %s after\n", output.Bytes(a.Before), output.Bytes(a.After))
	case a.Blanked > 0:
		fmt.Fprintln(p.stdout, "the freed space is reused inside the file; --compact returns it to the disk")
	}
	return nil
}

// writeHeldBack explains why less was archived than requested.
func (p *process) writeHeldBack(a *archiveAnswer) {
	fmt.Fprintf(p.stdout, "requested up to %s; held back by:\n", output.Thousands(a.Asked))
	if hot := a.Head - a.Keep + 1; hot <= a.Asked {
		fmt.Fprintf(p.stdout, "  the newest %s are kept: from %s on (--keep)\n", output.Count(a.Keep, "event"), output.Thousands(max(hot, 1)))
	}
	for _, r := range a.Needed {
		if r.Seq <= a.Asked {
			fmt.Fprintf(p.stdout, "  %s: needed from event %s on\n", r.What, output.Thousands(r.Seq))
		}
	}
}

// fileSize is the size of a file, 0 if unknown.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
