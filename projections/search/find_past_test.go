package search_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/projections/search"
)

// Up to an event the same is found, and counted, as when that was the last one.
func TestSearchUpToAnEvent(t *testing.T) {
	t.Parallel()
	const seed = 79
	type answer struct {
		Hits     search.Hits
		Sessions search.SessionHits
	}
	b, w := setup(t), newWriter(seed)
	ask := func(q search.Query) (a answer) {
		t.Helper()
		if err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
			if a.Hits, err = search.Find(t.Context(), tx, q); err != nil {
				return err
			}
			a.Sessions, err = search.FindSessions(t.Context(), tx, q)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if q.Relevance {
			slices.Sort(a.Hits.Seqs) // words are weighed by the whole file
		}
		return a
	}
	written(t, b, w, 150)
	queries := make([]search.Query, 120)
	then := make([]answer, len(queries))
	found := 0
	for i := range queries {
		q := search.Query{Words: words(t, oracleQuery{wanted: []string{pick(w, nouns)}}.String()), Limit: 1 + w.IntN(15), Offset: w.IntN(10), CountUpTo: 20,
			Internal: w.IntN(2) == 0}
		switch w.IntN(4) {
		case 0:
			from := float64(epoch)
			q.Since = &from
		case 1:
			q.Relevance, q.Limit, q.Offset = true, search.Ranked, 0
		}
		queries[i], then[i] = q, ask(q)
		found += len(then[i].Hits.Seqs)
	}
	written(t, b, w, 300)
	last, differ := int64(150), 0
	for i, q := range queries {
		now := ask(q)
		q.UpTo = &last
		if diff := cmp.Diff(then[i], ask(q)); diff != "" {
			t.Fatalf("seed %d, query %d: %+v (-then +up to event %d):\n%s", seed, i, q, last, diff)
		}
		if !cmp.Equal(now, then[i]) {
			differ++
		}
	}
	if found < 200 || differ < 60 {
		t.Errorf("%d hits, %d answers of %d that are others by now: they prove little", found, differ, len(queries))
	}
	none := int64(0)
	if a := ask(search.Query{Words: queries[0].Words, Limit: 10, UpTo: &none}); len(a.Hits.Seqs)+len(a.Sessions.Sessions) > 0 || a.Hits.Total+a.Sessions.Total > 0 {
		t.Errorf("up to the empty log there are %+v", a)
	}
}
