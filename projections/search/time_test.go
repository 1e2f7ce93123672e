package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/search"
)

// Hits outside the blocks of a time are not looked at: an event that happened long before or after its neighbours is found nevertheless.
func TestEventsOutOfTheOrderOfTimeAreFound(t *testing.T) {
	t.Parallel()
	const seed, events, second = 5, 1_700, 1_000
	b, w := setup(t), newWriter(seed)
	var times []float64
	for len(times) < events {
		batch := make([]eventstore.NewEvent, 100)
		for i := range batch {
			at := epoch + second*int64(len(times)+w.IntN(20))
			if w.IntN(200) == 0 {
				at = epoch + second*int64(w.IntN(events))
			}
			batch[i] = said("배포")
			batch[i].TS = at
			times = append(times, float64(at))
		}
		b.append(t, batch...)
	}
	b.await(t)
	for i := range 60 {
		since := float64(epoch + second*w.IntN(events))
		until := since + float64(second*w.IntN(200))
		query := func(q *search.Query) { q.Since, q.Until = &since, &until }
		switch i % 3 {
		case 1:
			query = func(q *search.Query) { q.Since = &since }
		case 2:
			query = func(q *search.Query) { q.Until = &until }
		}
		var q search.Query
		query(&q)
		want := []int64{}
		for seq := int64(events); seq > 0; seq-- {
			if at := times[seq-1]; (q.Since == nil || at >= since) && (q.Until == nil || at <= until) {
				want = append(want, seq)
			}
		}
		if got := b.find(t, "배포", query); !cmp.Equal(got.Seqs, want) || got.Total != int64(len(want)) {
			t.Fatalf("seed %d, query %d: %d of %d found, want %d", seed, i, len(got.Seqs), got.Total, len(want))
		}
	}
	before := float64(epoch - 1)
	if got := b.find(t, "배포", func(q *search.Query) { q.Until = &before }); got.Total != 0 {
		t.Errorf("%d events are found before the first", got.Total)
	}
}
