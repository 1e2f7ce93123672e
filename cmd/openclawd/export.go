package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// exporting holds the flags of export.
type exporting struct {
	db, out, format, until string
	from                   int64
	ids                    bool
}

func newExport(p *process) *cobra.Command {
	var x exporting
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the log as NDJSON",
		Long: `Writes the log, one JSON object per line, oldest first. Works beside a server and ends at the head of the log as it was at the start.

Format openclaw has the four fields that every reader of coordination-events.ndjson knows; our own book-keeping is left out. Format full
has everything, hashes included: importing it into an empty database restores the log exactly.`,
		Example: `  openclawd export > coordination-events.ndjson
  openclawd export --format full --out backup.ndjson
  openclawd export --from 1000 --until 2026-02-20T00:00:00Z   # what was stored until then`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.export(cmd.Context(), x) },
	}
	addPlace(cmd, &x.db)
	cmd.Flags().Int64Var(&x.from, "from", 1, "first event, by `SEQ`")
	cmd.Flags().StringVar(&x.until, "until", "", "last event, by `SEQ|TIME` (RFC 3339, when it was stored)")
	cmd.Flags().StringVar(&x.format, "format", string(ndjson.FormatOpenclaw), "`FORMAT` of a line: openclaw or full")
	cmd.Flags().StringVar(&x.out, "out", "", "`FILE` to make instead of writing to standard output; it appears when it is complete")
	cmd.Flags().BoolVar(&x.ids, "ids", false, "openclaw: add each event's id, so that importing the lines again adds nothing")
	return cmd
}

func (p *process) export(ctx context.Context, x exporting) error {
	opts := ndjson.ExportOptions{IDs: x.ids, From: x.from, Internal: coordination.Internal}
	var err error
	if opts.Format, err = ndjson.ParseFormat(x.format); err != nil {
		return &settings.Error{Setting: "--format", Value: x.format, Mend: "use openclaw or full"}
	}
	if x.from < 1 {
		return &settings.Error{Setting: "--from", Value: strconv.FormatInt(x.from, 10), Mend: "count from 1"}
	}
	if opts.UntilSeq, opts.UntilTime, err = parseUntil(x.until); err != nil {
		return err
	}
	log, err := p.openToRead(ctx, x.db)
	if err != nil {
		return err
	}
	defer log.Close()
	if x.out == "" {
		_, err := ndjson.Export(ctx, log, p.stdout, opts)
		return err
	}
	events, err := exportTo(ctx, log, x.out, opts)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stderr, "wrote %s to %s\n", output.Count(events, "event"), x.out)
	return err
}

// parseUntil reads a bound that is a seq or a time. "" is no bound.
func parseUntil(s string) (seq, ms int64, err error) {
	if s == "" {
		return 0, 0, nil
	}
	if seq, err := strconv.ParseInt(s, 10, 64); err == nil && seq > 0 {
		return seq, 0, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, 0, &settings.Error{Setting: "--until", Value: s, Mend: "give a seq from 1, or a time such as 2026-02-20T12:00:00Z"}
	}
	return 0, t.UnixMilli(), nil
}

// exportTo makes a file of its own: it is complete and on disk, or it is not there.
func exportTo(ctx context.Context, log *sqlite.DB, target string, opts ndjson.ExportOptions) (events int64, err error) {
	if _, err := os.Lstat(target); err == nil {
		return 0, &settings.Error{Setting: "--out", Value: target, Err: os.ErrExist, Mend: "name a file that is not there yet"}
	}
	f, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".part-*")
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	events, err = ndjson.Export(ctx, log, io.Writer(out), opts)
	if err = errors.Join(err, out.Flush(), f.Sync(), f.Close()); err != nil {
		return events, err
	}
	return events, os.Rename(f.Name(), target)
}
