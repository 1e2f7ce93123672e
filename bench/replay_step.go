package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// Steps of one round at one place, each way, and how often each is taken.
const (
	stepsEachWay = 100
	stepPasses   = 3
)

// measureSteps takes steps in the middle of the log and at its end.
func (b *bench) measureSteps(ctx context.Context, h home) error {
	return h.reading(ctx, func(log *sqlite.DB) error {
		return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
			for _, at := range []int{b.Events / 2, b.Events} {
				if err := b.stepAround(ctx, log, int64(at), v); err != nil {
					return err
				}
			}
			return nil
		}, func(v values) (list []figure) {
			for _, of := range [][2]string{{"forward", "a step forward, with the journal to undo it"}, {"back", "a step back"},
				{"show", "what is shown after a step either way: the event, its causes and effects, rows changed"}} {
				times := v[of[0]]
				list = append(list, within("replay.step."+of[0], quantile(times, 1), "ms", 17, fmt.Sprintf("the longest of %d, p50 %.2f ms, p95 %.2f ms: %s; "+
					"in the middle and at the end of a log of %d events", len(times), median(times), quantile(times, 0.95), of[1], b.Events)))
			}
			return list
		})
	})
}

// stepAround goes to an event, and takes steps back from there and forward again, several times.
func (b *bench) stepAround(ctx context.Context, log *sqlite.DB, at int64, v values) (err error) {
	m := debugger.New(debugger.Options{Log: log, Dir: b.Dir, Rules: coordination.RulesV2})
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.Goto(ctx, at, nil); err != nil {
		return err
	}
	take := func(name string, do func() error) error {
		took, err := seconds(do)
		v.add(name, took*1000)
		return err
	}
	show := func() error {
		_, err := m.Show(ctx)
		return err
	}
	for range stepPasses {
		for i := range 2 * stepsEachWay {
			name, step := "back", func() error { return m.Back(ctx, nil) }
			if i >= stepsEachWay {
				name, step = "forward", func() error { return m.Forward(ctx) }
			}
			if err := take(name, step); err != nil {
				return err
			}
			if err := take("show", show); err != nil {
				return err
			}
		}
	}
	return nil
}
