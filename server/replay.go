package server

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/points"
	"github.com/pronto-lab/openclawd/replay/answers"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// replayer answers what openclawd replay answers, from the snapshots of the past. It implements monitor.Replay.
type replayer struct {
	past  *past
	log   *sqlite.DB
	rules coordination.Rules
	turn  chan struct{} // holds one element for each answer being computed
}

// replaysAtOnce is how many comparisons and walks are computed at a time: each keeps a processor busy.
const replaysAtOnce = 1

func (p *Program) newReplay() *replayer {
	return &replayer{past: p.past, log: p.log, rules: p.opts.Rules, turn: make(chan struct{}, replaysAtOnce)}
}

// Tables implements monitor.Replay.
func (r *replayer) Tables() []string { return answers.Tables() }

// Resolve implements monitor.Replay.
func (r *replayer) Resolve(ctx context.Context, point string) (points.Point, error) {
	seq, err := asof.Resolve(ctx, r.log, point)
	if err != nil {
		return points.Point{}, err
	}
	return r.point(ctx, seq)
}

// Before implements monitor.Replay.
func (r *replayer) Before(ctx context.Context, at time.Time) (points.Point, error) {
	seq, err := asof.Before(ctx, r.log, at)
	if err != nil {
		return points.Point{}, err
	}
	return r.point(ctx, seq)
}

// Happened implements monitor.Replay.
func (r *replayer) Happened(ctx context.Context, at time.Time) (points.Point, error) {
	until := float64(at.UnixMilli())
	var seq int64
	err := r.log.View(ctx, func(tx *sql.Tx) error {
		selected, err := index.Select(ctx, tx, index.Filter{Internal: true, Until: &until})
		if err == nil {
			seq = selected.Matched
		}
		return err
	})
	if err != nil {
		return points.Point{}, err
	}
	return r.point(ctx, seq)
}

// TimeOf implements monitor.Replay.
func (r *replayer) TimeOf(ctx context.Context, seq int64) (int64, error) {
	if seq == 0 {
		return 0, nil
	}
	e, err := r.log.Event(ctx, seq)
	return e.TS, err
}

func (r *replayer) point(ctx context.Context, seq int64) (points.Point, error) {
	at, err := asof.RecordedAt(ctx, r.log, seq)
	point := points.Point{Seq: seq}
	if err == nil && !at.IsZero() {
		point.RecordedAt = at.UnixMilli()
	}
	return point, err
}

// Diff implements monitor.Replay.
func (r *replayer) Diff(ctx context.Context, q monitor.DiffQuery) (*points.BoundedDiff, *monitor.Pending, error) {
	before, release, pending, err := r.at(ctx, q.From)
	if before == nil {
		return nil, pending, err
	}
	defer release()
	after, releaseAfter, pending, err := r.at(ctx, q.To)
	if after == nil {
		return nil, pending, err
	}
	defer releaseAfter()
	end, err := r.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	diff, err := answers.Between(ctx, before, after, r.rules, answers.Shown{Tables: q.Tables, Limit: q.Limit, Bytes: points.MaxBytes})
	return diff, nil, err
}

// Steps implements monitor.Replay.
func (r *replayer) Steps(ctx context.Context, q monitor.StepsQuery) (*points.Steps, *monitor.Pending, error) {
	seqs, err := answers.Choose(ctx, r.log, q.At, q.N, q.ErrorsOnly)
	if err != nil {
		return nil, nil, err
	}
	var steps []points.BoundedStep
	if len(seqs) > 0 {
		before, release, pending, err := r.at(ctx, seqs[0]-1)
		if before == nil {
			return nil, pending, err
		}
		defer release()
		if steps, err = r.walk(ctx, before, seqs); err != nil {
			return nil, nil, err
		}
	}
	found, err := answers.Around(ctx, r.log, q.At, q.ErrorsOnly, steps)
	return found, nil, err
}

// walk steps on from a snapshot, which is held, and leaves it as it is.
func (r *replayer) walk(ctx context.Context, before *asof.State, seqs []int64) (_ []points.BoundedStep, err error) {
	end, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	state, err := r.past.Continue(ctx, before)
	if err != nil {
		return nil, err
	}
	machine, err := debugger.On(ctx, debugger.Options{Log: r.log, Rules: r.rules}, state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	return answers.Walk(ctx, machine, seqs)
}

// at returns the snapshot at an event, until release is called; nil with the progress if it is not ready yet.
func (r *replayer) at(ctx context.Context, seq int64) (*asof.State, func(), *monitor.Pending, error) {
	m, release, progress, ready, err := r.past.Cache.At(ctx, seq)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !ready:
		return nil, nil, &monitor.Pending{AsOf: seq, Progress: progress}, nil
	}
	return m.state, release, nil, nil
}

// begin waits for a turn. end ends it. Error: snapshot.ErrBusy.
func (r *replayer) begin(ctx context.Context) (end func(), err error) {
	patience := time.NewTimer(pastHold)
	defer patience.Stop()
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-patience.C:
		return nil, snapshot.ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
