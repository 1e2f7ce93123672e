package projections_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/projections"
)

// BenchmarkFold folds one log into a file of its own and, alternating, rebuilds it in its own file, and reports how many times as fast the first is.
func BenchmarkFold(b *testing.B) {
	const events = 200_000
	log := setup(b, definitions()...)
	for batch := range slices.Chunk(story(b, events), 1_000) {
		if _, err := log.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
	}
	var folding, rebuilding time.Duration
	for b.Loop() {
		start := time.Now()
		log.rebuild(b, projections.RebuildOptions{})
		rebuilding += time.Since(start)
		start = time.Now()
		scratch, _ := log.foldTo(b, events)
		folding += time.Since(start)
		if err := scratch.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*events/folding.Seconds(), "folded/s")
	b.ReportMetric(float64(b.N)*events/rebuilding.Seconds(), "rebuilt/s")
	b.ReportMetric(rebuilding.Seconds()/folding.Seconds(), "times-as-fast")
}

// BenchmarkFoldStep folds a log event by event, each in a transaction of its own.
func BenchmarkFoldStep(b *testing.B) {
	const events, from = 22_000, 20_000
	log := setup(b, definitions()...)
	for batch := range slices.Chunk(story(b, events), 1_000) {
		if _, err := log.Append(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
	}
	next, err := log.Read(b.Context(), from, events-from)
	if err != nil {
		b.Fatal(err)
	}
	scratch, fold := log.foldTo(b, from)
	longest, n := time.Duration(0), 0
	b.ResetTimer()
	for ; n < min(b.N, len(next)); n++ {
		start := time.Now()
		step(b, scratch, fold, &next[n])
		longest = max(longest, time.Since(start))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "us/step")
	b.ReportMetric(float64(longest.Microseconds()), "us-longest")
}
