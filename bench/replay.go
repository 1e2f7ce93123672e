package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// runReplay measures the uses of the log beside serving it: tables as of an event, answers from them, steps through
// them, and verification.
func runReplay(ctx context.Context, b *bench) error {
	h, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	for _, measure := range []func(context.Context, home) error{
		b.measureReplays, b.measureProofs, b.measureSteps, b.measurePast, b.measureAsOf, // the last one appends
	} {
		if err := measure(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// measureReplays compares building tables up to the head, discarded or kept as a database, with a rebuild of the same
// log.
func (b *bench) measureReplays(ctx context.Context, h home) (err error) {
	log, engine, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		rate := func(name string, do func() error) error {
			took, err := seconds(do)
			v.add(name, float64(head.Seq)/took)
			return err
		}
		if err := rate("rebuild", func() error { return engine.Rebuild(ctx, projections.RebuildOptions{}) }); err != nil {
			return err
		}
		if err := rate("scratch", func() error { return b.replay(ctx, log, head.Seq, "") }); err != nil {
			return err
		}
		dir, err := b.newDir("out")
		if err != nil {
			return err
		}
		err = rate("out", func() error { return b.replay(ctx, log, head.Seq, filepath.Join(dir, "replay.db")) })
		return errors.Join(err, os.RemoveAll(dir))
	}, func(v values) []figure {
		note := fmt.Sprintf("%d events, every projection; baseline: a rebuild of all of them in the log's own file, without other users, just before; "+
			"the median of %d ratios", head.Seq, b.done)
		scratch, before := v.pair("scratch", "rebuild")
		kept, beside := v.pair("out", "rebuild")
		return []figure{
			atLeast("replay.until", scratch, "events/s", before, 1, "replay --until head, from making the file to removing it; "+note),
			atLeast("replay.until.out", kept, "events/s", beside, 0.5, "replay --until head --out, with the log copied and all of it on disk; "+note),
		}
	})
}

func (b *bench) replay(ctx context.Context, log *sqlite.DB, until int64, out string) error {
	state, err := asof.Open(ctx, asof.Options{Log: log, Dir: b.Dir, Rules: coordination.RulesV2, Out: out}, until, nil)
	if err != nil {
		return err
	}
	return state.Close()
}

const everyColumn = "seq, stream_id, version, ver, ts, recorded_at, type, agent_id, correlation_id, causation_id, actor, id, data, original, salt, data_hash, hash"

// measureProofs compares verifying the chain with only reading the same events.
func (b *bench) measureProofs(ctx context.Context, h home) error {
	return h.reading(ctx, func(log *sqlite.DB) error {
		return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
			var read int64
			var proof sqlite.Verification
			reading, err := seconds(func() (err error) {
				read, err = readPlainly(ctx, h.db(), everyColumn, func([]sql.RawBytes) error { return nil })
				return err
			})
			if err != nil {
				return err
			}
			proving, err := seconds(func() (err error) {
				proof, err = log.Verify(ctx, true, nil)
				return err
			})
			if err == nil && proof.Events != read {
				err = fmt.Errorf("%d events were verified, and %d read", proof.Events, read)
			}
			v.add("verify", float64(read)/proving)
			v.add("read", float64(read)/reading)
			return err
		}, func(v values) []figure {
			verified, read := v.pair("verify", "read")
			return []figure{atLeast("replay.verify", verified, "events/s", read, 0.3, fmt.Sprintf(
				"verify --chain of %d events of %d bytes; baseline: one query for every column of every row, scanned and dropped; the median of %d ratios",
				b.Events, dataBytes, b.done))}
		})
	})
}
