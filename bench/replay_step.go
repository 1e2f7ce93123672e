package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// Steps of one round at one place, each way, how often each is taken, and the limit in ms for one.
const (
	stepsEachWay = 100
	stepPasses   = 3
	stepLimit    = 17
)

type steps map[int64][]float64

func (s steps) timed(at int64, do func() error) error {
	start := time.Now()
	err := do()
	s[at] = append(s[at], milliseconds(time.Since(start)))
	return err
}

// all returns all times, and own the longest of the fastest at each event: the step's own time, without other load on
// the machine.
func (s steps) all() (times []float64, own float64) {
	for _, of := range s {
		times, own = append(times, of...), max(own, slices.Min(of))
	}
	return times, own
}

// walk holds the times of steps either way, and of what is shown after them.
type walk struct{ forward, back, shown steps }

// measureSteps takes steps in the middle of the log and at its end.
func (b *bench) measureSteps(ctx context.Context, h home) error {
	log, err := h.openToRead(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	w := walk{steps{}, steps{}, steps{}}
	_, err = b.rounds(ctx, func(ctx context.Context, _ int, _ values) error {
		for _, at := range []int64{head.Seq / 2, head.Seq} {
			if err := b.stepAround(ctx, log, at, &w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	result := func(name, what string, s steps) figure {
		times, own := s.all()
		return within(name, quantile(times, 1), "ms", stepLimit, fmt.Sprintf("the longest of %d, p50 %.2f ms, p95 %.2f ms, %.2f ms if each is at "+
			"its fastest: %s; %d steps each way in the middle and at the end of a log of %d events, each taken %d times",
			len(times), median(times), quantile(times, 0.95), own, what, stepsEachWay, head.Seq, stepPasses*b.done))
	}
	return b.report(
		result("replay.step.forward", "a step forward, with the journal to undo it", w.forward),
		result("replay.step.back", "a step back", w.back),
		result("replay.step.show", "what is shown after a step either way: the event, its causes and effects, rows changed", w.shown),
	)
}

// stepAround goes to an event, and takes steps back from there and forward again, several times.
func (b *bench) stepAround(ctx context.Context, log *sqlite.DB, at int64, w *walk) (err error) {
	m := debugger.New(debugger.Options{Log: log, Dir: b.Dir, Rules: coordination.RulesV2})
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.Goto(ctx, at, nil); err != nil {
		return err
	}
	take := func(times steps, do func() error) error {
		if err := times.timed(m.At(), do); err != nil {
			return err
		}
		return w.shown.timed(m.At(), func() error {
			_, err := m.Show(ctx)
			return err
		})
	}
	count := min(stepsEachWay, at-1)
	for range stepPasses {
		for range count {
			if err := take(w.back, func() error { return m.Back(ctx, nil) }); err != nil {
				return err
			}
		}
		for range count {
			if err := take(w.forward, func() error { return m.Forward(ctx) }); err != nil {
				return err
			}
		}
	}
	return nil
}
