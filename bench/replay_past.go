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
	over chan error // of Run
}

func (b *bench) withPast(ctx context.Context, log *sqlite.DB, do func(*past) error) error {
	p := &past{over: make(chan error, 1), Cache: asof.NewCache(asof.CacheOptions[*asof.State]{
		Options: asof.Options{Log: log, Dir: filepath.Join(b.Dir, "past"), Rules: coordination.RulesV2},
		Keeping: asof.Keeping{MaxBytes: func() int64 { return log.Gauges().DatabaseBytes }},
		Now:     time.Now, Make: func(_ context.Context, s *asof.State) (*asof.State, error) { return s, nil },
		Hold: time.Hour,
	})}
	running, end := context.WithCancel(ctx)
	go func() { p.over <- p.Run(running) }()
	err := do(p)
	end()
	return errors.Join(err, <-p.over, p.Close())
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

// request adds how many ms it takes until a snapshot is ready.
func (p *past) request(ctx context.Context, seq int64, name string, v values) error {
	took, err := seconds(func() error {
		_, release, _, ready, err := p.At(ctx, seq)
		if ready {
			release()
		}
		return err
	})
	v.add(name, took*1000)
	return err
}

// requestAll requests snapshots at random events up to head, and at neighbours of each.
func (p *past) requestAll(ctx context.Context, head int64, v values) error {
	random := rand.New(rand.NewPCG(21, 6))
	for range pastPoints {
		seq, step := 1+random.Int64N(head), int64(pastStep)
		if err := p.request(ctx, seq, "anywhere", v); err != nil {
			return err
		}
		if random.IntN(2) == 0 {
			step = -step
		}
		for n := int64(1); n <= pastNeighbours; n++ {
			if err := p.request(ctx, min(max(seq+n*step, 0), head), "near", v); err != nil {
				return err
			}
		}
	}
	return nil
}

// measurePast requests snapshots as of random events and steps from these, and compares with folding from the first event.
func (b *bench) measurePast(ctx context.Context, h home) error {
	return h.reading(ctx, func(log *sqlite.DB) error {
		return b.withPast(ctx, log, func(p *past) error {
			head, v := int64(b.Events), values{}
			kept, err := seconds(func() error { return p.keepAll(ctx, head) })
			if err != nil {
				return err
			}
			if err := p.requestAll(ctx, head, v); err != nil {
				return err
			}
			folded, err := seconds(func() error { return b.replay(ctx, log, head/2, "") })
			if err != nil {
				return err
			}
			s, database, p95 := p.Status(), float64(log.Gauges().DatabaseBytes), quantile(v["anywhere"], 0.95)
			note := fmt.Sprintf("%d events, %d states kept in %.0f s in the background at half of one processor, up to event %d", head, s.States, kept, s.UpTo)
			return b.report(
				within("replay.past", p95, "ms", 900,
					fmt.Sprintf("p95 until a snapshot as of one of %d random events is ready; p50 %.0f ms; %s", pastPoints, v.mid("anywhere"), note)),
				atMost("replay.past.fold", p95, "ms", folded*1000, 0.02,
					"the same p95; baseline: what it replaces, folding from the first event, to the middle of the log"),
				within("replay.past.near", quantile(v["near"], 0.95), "ms", 90,
					fmt.Sprintf("p95 of %d steps of %d events from such a snapshot, up or down; p50 %.0f ms", len(v["near"]), pastStep, v.mid("near"))),
				atMost("replay.past.disk", float64(s.Bytes)/1e6, "MB", database/1e6, 1, "size of the kept states; baseline: size of the database; "+note),
			)
		})
	})
}
