package workqueue_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// What a worker reads, while 10,000 items wait over few or many keys, at once or later.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct {
		keys  int
		dueAt int64
	}{{10, 0}, {10_000, 0}, {10_000, base}} {
		b.Run(fmt.Sprintf("keys=%d,due=%t", c.keys, c.dueAt == 0), func(b *testing.B) {
			l := setup(b)
			for n := 0; n < 10_000; n += 200 {
				var some []eventstore.StreamAppend
				for i := n; i < n+200; i++ {
					some = append(some, ask(fmt.Sprint("e", i), fmt.Sprint("k", i%c.keys), fmt.Sprint("agent", i%20), c.dueAt))
				}
				l.append(b, some...)
			}
			b.Run("heads", func(b *testing.B) {
				for b.Loop() {
					projectiontest.Read(b, l, func(ctx context.Context, tx *sql.Tx) ([]workqueue.Head, error) { return workqueue.Heads(ctx, tx) })
				}
			})
			b.Run("ready", func(b *testing.B) {
				for b.Loop() {
					l.ready(b, "p", 1, 4, "k")
				}
			})
			b.Run("lanes", func(b *testing.B) {
				for b.Loop() {
					projectiontest.Read(b, l, func(ctx context.Context, tx *sql.Tx) ([]workqueue.Lane, error) { return workqueue.Lanes(ctx, tx) })
				}
			})
		})
	}
}

// A run from its asking to its end, in the tables alone.
func BenchmarkFold(b *testing.B) {
	l := setup(b)
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("run/r", i)
		l.append(b, event(id, coordination.TypeRunQueued, fmt.Sprintf(`"runId":"r%d","sessionKey":"agent:eden:%d","lane":"main"`, i, i%10)),
			event(id, coordination.TypeRunStarted, ""), event(id, coordination.TypeRunEnded, ""))
	}
}
