package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/points"
)

func newEventsShow(p *process) *cobra.Command {
	var (
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "show SEQ|ID",
		Short:   "Show one event with everything that is stored about it",
		Example: "  openclawd events show 42\n  openclawd events show 0197c9a4-5b1e-7c3d-9f00-112233445566 --json",
		Args:    positional(cobra.MatchAll(cobra.ExactArgs(1), isEventRef)),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			e, err := findEvent(cmd.Context(), log, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(p.stdout, e)
			}
			return p.writeEvent(&e)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// isEventRef checks that every argument is a seq or an event id.
func isEventRef(_ *cobra.Command, args []string) error {
	for _, ref := range args {
		if seq, err := strconv.ParseInt(ref, 10, 64); err == nil && seq > 0 {
			continue
		}
		if _, err := eventstore.ParseID(ref); err != nil {
			return fmt.Errorf("%q is neither a seq (1, 2, 3, ...) nor an event id", ref)
		}
	}
	return nil
}

func findEvent(ctx context.Context, log *sqlite.DB, ref string) (points.Event, error) {
	seq, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		id, err := eventstore.ParseID(ref)
		if err != nil {
			return points.Event{}, err
		}
		e, err := log.EventByID(ctx, id)
		if errors.Is(err, eventstore.ErrNotFound) {
			return points.Event{}, fmt.Errorf("event %s: %w", id, eventstore.ErrNotFound)
		}
		if err != nil {
			return points.Event{}, err
		}
		seq = e.Seq
	}
	e, err := log.Event(ctx, seq)
	if err != nil {
		return points.Event{}, err
	}
	var entry *index.Entry
	err = log.View(ctx, func(tx *sql.Tx) error {
		entries, err := index.Entries(ctx, tx, []int64{e.Seq})
		entry = entries[e.Seq]
		return err
	})
	return answer(&e, entry), err
}

func (p *process) writeEvent(e *points.Event) error {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(p.stdout, "%-12s %s\n", name, output.Printable(value))
		}
	}
	line("seq", strconv.FormatInt(e.Seq, 10))
	line("id", e.ID.String())
	line("type", e.Type)
	line("agent", e.AgentID)
	line("time", output.Time(e.TS)+" UTC")
	line("recorded", output.Time(e.RecordedAt)+" UTC by "+string(e.Actor))
	line("stream", fmt.Sprintf("%s, version %d", e.Stream, e.Version))
	line("role", string(e.Role))
	line("category", string(e.Category))
	line("correlation", e.CorrelationID)
	line("cause", e.CausationID)
	line("hash", e.Hash.String())
	if e.Data == nil {
		_, err := fmt.Fprintln(p.stdout, "data         redacted")
		return err
	}
	for _, payload := range []struct {
		name string
		text json.RawMessage
	}{{"data", e.Data}, {"original", e.Original}} {
		if payload.text == nil {
			continue
		}
		var text bytes.Buffer
		if err := json.Indent(&text, payload.text, "", "  "); err != nil {
			return fmt.Errorf("%s of event %d: %w", payload.name, e.Seq, err)
		}
		if _, err := fmt.Fprintf(p.stdout, "%-12s %s\n", payload.name, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
