package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// runReplay measures the uses of the log beside serving it: tables as of an event, answers from them, steps through
// them, and verification.
func runReplay(ctx context.Context, b *bench) (results []figure, err error) {
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context, *bigLog) ([]figure, error){
		b.measureReplays, b.measureProofs, b.measureSteps, b.measurePast, b.measureAsOf, // the last one appends
	} {
		part, err := measure(ctx, big)
		if err != nil {
			return results, err
		}
		results = append(results, part...)
	}
	return results, nil
}

// pairs are figures, each with the figure of its baseline taken right beside it, so that other load on the machine
// affects both.
type pairs [][2]float64

func (p pairs) mid() (value, baseline float64) {
	slices.SortFunc(p, func(x, y [2]float64) int { return cmp.Compare(x[0]/x[1], y[0]/y[1]) })
	m := p[len(p)/2]
	return m[0], m[1]
}

// measureReplays compares building tables up to the head, discarded or kept as a database, with a rebuild of the same
// log.
func (b *bench) measureReplays(ctx context.Context, big *bigLog) (_ []figure, err error) {
	log, engine, err := openLog(ctx, big.db)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	rate := func(do func() error) (float64, error) {
		took, err := seconds(do)
		return float64(head.Seq) / took, err
	}
	var scratch, whole pairs
	for round := range b.Rounds {
		rebuilt, err := rate(func() error { return engine.Rebuild(ctx, projections.RebuildOptions{}) })
		if err != nil {
			return nil, err
		}
		folded, err := rate(func() error { return b.replay(ctx, log, head.Seq, "") })
		if err != nil {
			return nil, err
		}
		out := filepath.Join(b.Dir, fmt.Sprintf("replay-%d.db", round))
		kept, err := rate(func() error { return b.replay(ctx, log, head.Seq, out) })
		if err = errors.Join(err, remove(out)); err != nil {
			return nil, err
		}
		scratch, whole = append(scratch, [2]float64{folded, rebuilt}), append(whole, [2]float64{kept, rebuilt})
		b.logf("replay round %d: rebuild %.0f/s, replay %.0f/s, with --out %.0f/s", round+1, rebuilt, folded, kept)
	}
	note := fmt.Sprintf("%d events, every projection; baseline: a rebuild of all of them in the log's own file, without other users, just before; "+
		"the median of %d ratios", head.Seq, b.Rounds)
	value, baseline := scratch.mid()
	kept, beside := whole.mid()
	return []figure{
		atLeast("replay.until", value, "events/s", baseline, 1, "replay --until head, from making the file to removing it; "+note),
		atLeast("replay.until.out", kept, "events/s", beside, 0.5, "replay --until head --out, with the log copied and all of it on disk; "+note),
	}, nil
}

func (b *bench) replay(ctx context.Context, log *sqlite.DB, until int64, out string) error {
	state, err := asof.Open(ctx, asof.Options{Log: log, Dir: b.Dir, Rules: coordination.RulesV2, Out: out}, until, nil)
	if err != nil {
		return err
	}
	return state.Close()
}

// measureProofs compares verifying the chain with only reading the same events.
func (b *bench) measureProofs(ctx context.Context, big *bigLog) (_ []figure, err error) {
	log, err := sqlite.Open(ctx, sqlite.Options{Path: big.db, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var proofs pairs
	events := int64(0)
	for round := range b.Rounds {
		read := int64(0)
		reading, err := seconds(func() (err error) {
			read, err = readPlainly(ctx, big.db)
			return err
		})
		if err != nil {
			return nil, err
		}
		var proof sqlite.Verification
		proving, err := seconds(func() (err error) {
			proof, err = log.Verify(ctx, true, nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		if events = proof.Events; events != read {
			return nil, fmt.Errorf("%d events were verified, and %d read", events, read)
		}
		proofs = append(proofs, [2]float64{float64(events) / proving, float64(events) / reading})
		b.logf("replay round %d: verify --chain %.0f/s, plain read %.0f/s", round+1, proofs[round][0], proofs[round][1])
	}
	value, baseline := proofs.mid()
	return []figure{atLeast("replay.verify", value, "events/s", baseline, 0.3, fmt.Sprintf(
		"verify --chain of %d events of %d bytes; baseline: one query for every column of every row, scanned and dropped; the median of %d ratios",
		events, dataBytes, b.Rounds))}, nil
}

// readPlainly reads every column of every event, and keeps nothing.
func readPlainly(ctx context.Context, path string) (events int64, err error) {
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT seq, stream_id, version, ver, ts, recorded_at, type, agent_id, correlation_id, causation_id, actor,
 id, data, original, salt, data_hash, hash FROM events ORDER BY seq`)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var (
		numbers [6]int64
		texts   [5]string
		bytes   [6][]byte
		into    []any
	)
	for i := range numbers {
		into = append(into, &numbers[i])
	}
	for i := range texts {
		into = append(into, &texts[i])
	}
	for i := range bytes {
		into = append(into, &bytes[i])
	}
	for ; rows.Next(); events++ {
		if err := rows.Scan(into...); err != nil {
			return events, err
		}
	}
	return events, rows.Err()
}
