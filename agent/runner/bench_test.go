package runner_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// BenchmarkRuns answers messages by the script, each event on disk, at one lane and at 16.
func BenchmarkRuns(b *testing.B) {
	for _, lanes := range []int{1, 16} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			h := setup(b, setting{lanes: map[string]int{run.LaneMain: lanes}, durability: sqlite.DurabilityFull})
			b.ReportAllocs()
			var all sync.WaitGroup
			next := make(chan int)
			for lane := range lanes {
				all.Go(func() {
					for i := range next {
						id := fmt.Sprint("r", i)
						h.say(id, fmt.Sprint("s", lane, "-", i/50), "hello")
						h.over(id)
					}
				})
			}
			for i := 0; b.Loop(); i++ {
				next <- i
			}
			close(next)
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
