package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/durable"
	"github.com/pronto-lab/openclawd/internal/output"
)

type exportFlags struct {
	db, out, format, until string
	from                   int64
	ids                    bool
}

func newExport(p *process) *cobra.Command {
	var x exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the log as NDJSON",
		Long: `Writes the log, one JSON object per line, oldest first, up to the head of the log at the start. Works beside a running server.

Format openclaw has the four fields that every reader of coordination-events.ndjson knows; internal events are left out. Format full has
everything, including hashes: importing it into an empty database restores the log exactly.`,
		Example: `  openclawd export > coordination-events.ndjson
  openclawd export --format full --out backup.ndjson
  openclawd export --from 1000 --until 2026-02-20T00:00:00Z   # what was stored by then`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.export(cmd.Context(), x) },
	}
	addPlace(cmd, &x.db)
	cmd.Flags().Int64Var(&x.from, "from", 1, "first event, by `SEQ`")
	cmd.Flags().StringVar(&x.until, "until", "", "last event, by `SEQ|TIME` (RFC 3339, when it was stored)")
	cmd.Flags().StringVar(&x.format, "format", string(ndjson.FormatOpenclaw), "`FORMAT` of a line: openclaw or full")
	cmd.Flags().StringVar(&x.out, "out", "", "`FILE` to create instead of writing to standard output; it appears when it is complete")
	cmd.Flags().BoolVar(&x.ids, "ids", false, "openclaw: include each event's id, so that importing the lines again adds nothing")
	return cmd
}

func (p *process) export(ctx context.Context, x exportFlags) error {
	opts := ndjson.ExportOptions{IDs: x.ids, From: x.from, Internal: coordination.Internal}
	var err error
	if opts.Format, err = ndjson.ParseFormat(x.format); err != nil {
		return &config.SettingError{Setting: "--format", Value: x.format, HintText: "use openclaw or full"}
	}
	if x.from < 1 {
		return &config.SettingError{Setting: "--from", Value: strconv.FormatInt(x.from, 10), HintText: "count from 1"}
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

// parseUntil parses a bound that is a seq or a time; "" for none.
func parseUntil(s string) (seq, ms int64, err error) {
	if s == "" {
		return 0, 0, nil
	}
	if seq, err := strconv.ParseInt(s, 10, 64); err == nil && seq > 0 {
		return seq, 0, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, 0, &config.SettingError{Setting: "--until", Value: s, HintText: "give a seq from 1, or a time such as 2026-02-20T12:00:00Z"}
	}
	return 0, t.UnixMilli(), nil
}

// exportTo writes a new file: it is complete and on disk, or it does not exist.
func exportTo(ctx context.Context, log *sqlite.DB, target string, opts ndjson.ExportOptions) (events int64, err error) {
	if _, err := os.Lstat(target); err == nil {
		return 0, &config.SettingError{Setting: "--out", Value: target, Err: os.ErrExist, HintText: "name a file that does not exist yet"}
	}
	err = durable.Replace(target, 0o600, func(w io.Writer) (err error) {
		out := bufio.NewWriterSize(w, 1<<20)
		events, err = ndjson.Export(ctx, log, out, opts)
		return errors.Join(err, out.Flush())
	})
	return events, err
}
