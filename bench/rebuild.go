package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

func runRebuild(ctx context.Context, b *bench) error {
	h, err := b.filled(ctx, b.Events)
	if err != nil {
		return err
	}
	log, engine, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		read, err := seconds(func() error { return readAndDecode(ctx, h.db()) })
		if err != nil {
			return err
		}
		took, err := seconds(func() error { return engine.Rebuild(ctx, projections.RebuildOptions{}) })
		v.add("read", float64(b.Events)/read)
		v.add("rate", float64(b.Events)/took)
		return err
	}, func(v values) []figure {
		return []figure{atLeast("rebuild.rate", v.mid("rate"), "events/s", v.mid("read"), 0.5, fmt.Sprintf("%d events, all projections into shadow tables "+
			"and swapped; baseline: one query for the columns that a fold needs, and decoding the data with encoding/json, without copies; %s", b.Events, b.medians()))}
	})
}

// readAndDecode is the minimum that any rebuild must do.
func readAndDecode(ctx context.Context, path string) error {
	type data struct {
		FromAgent, ToAgent, ConversationID, WorkSessionID, TaskID, RunID, EventRole, Message, ReplyPreview string
	}
	_, err := readPlainly(ctx, path, "seq, ts, type, agent_id, data", func(row []sql.RawBytes) error {
		var d data
		return json.Unmarshal(row[len(row)-1], &d)
	})
	return err
}

// runLive rebuilds all projections while clients append, and reports the longest append.
func runLive(ctx context.Context, b *bench) error {
	h, err := b.filled(ctx, b.Events)
	if err != nil {
		return err
	}
	var c appended
	err = h.with(ctx, func(log *sqlite.DB, engine *projections.Engine) (err error) {
		load := appending(ctx, log)
		c, err = load.during(func() error { return engine.Rebuild(ctx, projections.RebuildOptions{Live: true}) })
		return errors.Join(err, load.end())
	})
	if err != nil {
		return err
	}
	return b.report(within("rebuild.live.stall", c.worst, "ms", 340, fmt.Sprintf("longest append of %d clients while all projections of %d events were "+
		"rebuilt in %.0f s; %.0f events were appended meanwhile", clients, b.Events, c.took, c.rate*c.took)))
}
