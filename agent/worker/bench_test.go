package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// From the commit that asks for something until it is done: the lease, which is a commit of its own, and what the worker adds.
func BenchmarkBegin(b *testing.B) {
	for _, waiting := range []int{0, 10_000} {
		b.Run(fmt.Sprint(waiting, " waiting"), func(b *testing.B) {
			l := openAt(b, emptyAt(b, b.TempDir()))
			defer l.close(b)
			for n := 0; n < waiting; n += 200 {
				var later []coordination.WorkScheduled
				for i := range 200 {
					w := effect(fmt.Sprint("later", n+i), fmt.Sprint("later", n+i))
					w.DueAtMs = time.Now().Add(time.Hour).UnixMilli()
					later = append(later, w)
				}
				l.ask(b, later...)
			}
			began := make(chan time.Time, 1)
			h := l.start(b, worker.Options{Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error {
				began <- time.Now()
				return nil
			})})
			var took time.Duration
			for i := 0; b.Loop(); i++ {
				l.ask(b, effect(fmt.Sprint(i), fmt.Sprint(i)))
				asked := time.Now()
				took += (<-began).Sub(asked)
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/begin")
			h.end(b)
		})
	}
}

// What a worker can do where doing it costs nothing.
func BenchmarkThroughput(b *testing.B) {
	l := openAt(b, emptyAt(b, b.TempDir()))
	defer l.close(b)
	done := make(chan bool, 1000)
	h := l.start(b, worker.Options{Pools: func() map[string]int { return map[string]int{"p": 16} },
		Handlers: task(worker.Policy{}, func(context.Context, workqueue.Item) error {
			done <- true
			return nil
		})})
	for i := 0; b.Loop(); i += 100 {
		var some []coordination.WorkScheduled
		for n := range 100 {
			some = append(some, effect(fmt.Sprint(i+n), fmt.Sprint(n)))
		}
		l.ask(b, some...)
		for range 100 {
			<-done
		}
	}
	b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "items/s")
	h.end(b)
}

// How many items a worker gets through that are put off, or ended, when they are started, where thousands come due at once.
func BenchmarkPutOff(b *testing.B) {
	const items = 2_000
	l := openAt(b, emptyAt(b, b.TempDir()))
	defer l.close(b)
	for n := 0; n < items; n += 200 {
		var some []coordination.WorkScheduled
		for i := range 200 {
			some = append(some, effect(fmt.Sprint(n+i), fmt.Sprint(n+i)))
		}
		l.ask(b, some...)
	}
	began := make(chan bool, items)
	h := l.start(b, worker.Options{Pools: func() map[string]int { return map[string]int{"p": 16} }, Handlers: kinds(&handler{
		begin: func(item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
			select {
			case began <- true:
			default:
			}
			return one(item.EffectID, coordination.TypeWorkReleased, fmt.Sprintf(`{"dueAtMs":%d}`, now.UnixMilli()+1)), nil
		}})})
	for b.Loop() {
		<-began
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
	h.end(b)
}
