package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// archiving holds the flags of archive create.
type archiving struct {
	db, before, until, by   string
	keep                    int64
	dryRun, compact, asJSON bool
}

func newArchiveCreate(p *process) *cobra.Command {
	var a archiving
	cmd := &cobra.Command{
		Use:   "create --before TIME|--until SEQ",
		Short: "Move payloads of old events into archives",
		Long: `Moves what old events say into archives beside the database, and blanks it there: each archive is written, brought to disk and read back before
anything is blanked, and what was done is an event itself. A run that is killed has lost nothing; the next one goes on from there. What is
archived is read as before by export, replay, verify, search and the API; SQL shows NULL, and transcripts say that a message was archived.

Never archived: the newest --keep events, and whatever is newer than the oldest event that something open goes back to: work, runs, flows, tasks,
plans, requests, what sinks and the search have not read. --dry-run says what that is. No server may have the database meanwhile.`,
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
	cmd.Flags().StringVar(&a.before, "before", "", "archive what was stored before `TIME`: RFC 3339, a date, or an age such as 720h")
	cmd.Flags().StringVar(&a.until, "until", "", "archive up to event `SEQ`")
	cmd.Flags().Int64Var(&a.keep, "keep", database.DefaultKeep, "never archive the newest `N` events")
	cmd.Flags().StringVar(&a.by, "by", "", "`NAME` of who archives, for the log")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "say what would be archived, and why no more, and change nothing")
	cmd.Flags().BoolVar(&a.compact, "compact", false, "then write the file anew, so that the room that was freed goes back to the disk")
	cmd.Flags().BoolVar(&a.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// archiveAnswer is what archive create answers.
type archiveAnswer struct {
	*database.ArchivePlan
	DryRun   bool               `json:"dryRun"`
	Dir      string             `json:"dir"`
	Archives []archive.Manifest `json:"archives"`
	Blanked  int64              `json:"blanked"`
	Before   int64              `json:"bytesBefore"` // of the database's file
	After    int64              `json:"bytesAfter"`
}

func (p *process) archive(ctx context.Context, a *archiving) error {
	request := &database.ArchiveRequest{Keep: a.keep, By: a.by, Now: p.now}
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
	if answer.ArchivePlan, err = database.PlanArchive(ctx, log, request); err != nil {
		return err
	}
	if !a.dryRun && !answer.Empty() {
		bar := p.eventProgress("archive")
		done, err := database.Archive(ctx, log, answer.ArchivePlan, request, bar.tell)
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

func (p *process) archiveBounds(a *archiving, r *database.ArchiveRequest) (err error) {
	if a.keep < 0 {
		return &settings.Error{Setting: "--keep", Value: strconv.FormatInt(a.keep, 10), Mend: "give how many of the newest events stay, or 0"}
	}
	if a.until != "" {
		if r.Until, err = strconv.ParseInt(a.until, 10, 64); err != nil || r.Until < 1 {
			return &settings.Error{Setting: "--until", Value: a.until, Mend: "give the seq of an event, from 1"}
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
		fmt.Fprintln(p.stdout, "nothing can be archived")
	case a.DryRun:
		fmt.Fprintf(p.stdout, "would archive %s (%s to %s) into %s\n", output.Count(a.Last-a.First+1, "event"), output.Thousands(a.First), output.Thousands(a.Last), a.Dir)
	default:
		var raw, size int64
		for i := range a.Archives {
			m := &a.Archives[i]
			raw, size = raw+m.RawBytes, size+m.Bytes
			fmt.Fprintf(p.stdout, "archived events %s to %s in %s\n", output.Thousands(m.First), output.Thousands(m.Last), m.File)
		}
		fmt.Fprintf(p.stdout, "%s left the database: %s in %s of archives (%s)\n", output.Count(a.Blanked, "payload"), output.Bytes(raw), output.Bytes(size), a.Dir)
	}
	if a.Last < a.Asked {
		p.writeHeldBack(a)
	}
	switch {
	case compact && !a.DryRun:
		fmt.Fprintf(p.stdout, "the file went from %s to %s\n", output.Bytes(a.Before), output.Bytes(a.After))
	case a.Blanked > 0:
		fmt.Fprintln(p.stdout, "the room is free inside the file and is used again; --compact gives it back to the disk")
	}
	return nil
}

// writeHeldBack says why not everything could be archived that was asked for.
func (p *process) writeHeldBack(a *archiveAnswer) {
	fmt.Fprintf(p.stdout, "asked for up to %s; held back by:\n", output.Thousands(a.Asked))
	if hot := a.Head - a.Keep + 1; hot <= a.Asked {
		fmt.Fprintf(p.stdout, "  the newest %s stay: from %s on (--keep)\n", output.Count(a.Keep, "event"), output.Thousands(max(hot, 1)))
	}
	for _, r := range a.Needed {
		if r.Seq <= a.Asked {
			fmt.Fprintf(p.stdout, "  %s: needed from event %s on\n", r.What, output.Thousands(r.Seq))
		}
	}
}

// fileSize is how large a file is, 0 if nobody can tell.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
