package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// How many snapshots are requested, at random events and at neighbours of these, and how far apart neighbours are.
const (
	pastPoints     = 60
	pastNeighbours = 6
	pastStep       = 100
)

// past is a cache of snapshots whose states are kept beside the big log.
type past struct {
	*asof.Cache[*asof.State]
	log  *sqlite.DB
	end  context.CancelFunc
	over chan error
}

func (b *bench) openPast(ctx context.Context, h home) (_ *past, err error) {
	p := &past{over: make(chan error, 1)}
	if p.log, err = h.openToRead(ctx); err != nil {
		return nil, err
	}
	p.Cache = asof.NewCache(asof.CacheOptions[*asof.State]{
		Options: asof.Options{Log: p.log, Dir: filepath.Join(b.Dir, "past"), Rules: coordination.RulesV2},
		Keeping: asof.Keeping{MaxBytes: func() int64 { return p.log.Gauges().DatabaseBytes }},
		Now:     time.Now, Make: func(_ context.Context, s *asof.State) (*asof.State, error) { return s, nil },
		Hold: time.Hour,
	})
	running, end := context.WithCancel(ctx)
	p.end = end
	go func() { p.over <- p.Run(running) }()
	return p, nil
}

func (p *past) close() error {
	p.end()
	return errors.Join(<-p.over, p.Close(), p.log.Close())
}

// keepAll waits until states up to an event are kept.
func (p *past) keepAll(ctx context.Context, seq int64) error {
	return until(ctx, 100*time.Millisecond, "keeping states", func() (bool, error) {
		select {
		case err := <-p.over:
			p.over <- err
			return false, errors.Join(errors.New("keeping states has ended"), err)
		default:
			return p.Status().UpTo+asof.DefaultEvery > seq, nil
		}
	})
}

// request returns how many ms it takes until a snapshot is ready.
func (p *past) request(ctx context.Context, seq int64) (float64, error) {
	took, err := seconds(func() error {
		_, release, _, ready, err := p.At(ctx, seq)
		if ready {
			release()
		}
		return err
	})
	return took * 1000, err
}

// measurePast requests snapshots as of random events and steps from these, and compares with folding from the first event.
func (b *bench) measurePast(ctx context.Context, h home) (err error) {
	p, err := b.openPast(ctx, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	head, err := p.log.Head(ctx)
	if err != nil {
		return err
	}
	kept, err := seconds(func() error { return p.keepAll(ctx, head.Seq) })
	if err != nil {
		return err
	}
	var anywhere, near []float64
	random := rand.New(rand.NewPCG(21, 6))
	for range pastPoints {
		seq := 1 + random.Int64N(head.Seq)
		ms, err := p.request(ctx, seq)
		if err != nil {
			return err
		}
		anywhere = append(anywhere, ms)
		step := int64(pastStep)
		if random.IntN(2) == 0 {
			step = -step
		}
		for n := int64(1); n <= pastNeighbours; n++ {
			next := min(max(seq+n*step, 0), head.Seq)
			if ms, err = p.request(ctx, next); err != nil {
				return err
			}
			near = append(near, ms)
		}
	}
	folded, err := seconds(func() error { return b.replay(ctx, p.log, head.Seq/2, "") })
	if err != nil {
		return err
	}
	s, database := p.Status(), float64(p.log.Gauges().DatabaseBytes)
	note := fmt.Sprintf("%d events, %d states kept in %.0f s in the background at half of one processor, up to event %d", head.Seq, s.States, kept, s.UpTo)
	b.logf("replay: snapshots p50 %.0f ms, p95 %.0f ms; neighbours p50 %.0f ms, p95 %.0f ms; states %.0f MB, snapshots %.0f MB, database %.0f MB",
		median(anywhere), quantile(anywhere, 0.95), median(near), quantile(near, 0.95), float64(s.Bytes)/1e6, float64(s.SnapshotBytes)/1e6, database/1e6)
	return b.report(
		within("replay.past", quantile(anywhere, 0.95), "ms", 900,
			fmt.Sprintf("p95 until a snapshot as of one of %d random events is ready; p50 %.0f ms; %s", pastPoints, median(anywhere), note)),
		atMost("replay.past.fold", quantile(anywhere, 0.95), "ms", folded*1000, 0.02,
			"the same p95; baseline: what it replaces, folding from the first event, to the middle of the log"),
		within("replay.past.near", quantile(near, 0.95), "ms", 90,
			fmt.Sprintf("p95 of %d steps of %d events from such a snapshot, up or down; p50 %.0f ms", len(near), pastStep, median(near))),
		atMost("replay.past.disk", float64(s.Bytes)/1e6, "MB", database/1e6, 1, "size of the kept states; baseline: size of the database; "+note),
	)
}
