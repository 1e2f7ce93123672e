package search_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/projections/search"
)

// Where hits are counted up to a bound only, pages are the same, and a total never claims more than it knows nor hides a next page.
func TestBoundedCountsAreHonest(t *testing.T) {
	t.Parallel()
	const seed, bound = 11, 20
	b, w := setup(t), newWriter(seed)
	known := written(t, b, w, 400)
	inexact := 0
	for i := range 100 {
		asked := oracleQuery{wanted: []string{pick(w, nouns)}}
		matches := asked.matcher()
		want := bruteForce(known, func(o *oracleEvent) bool { return matches(o.texts) })
		q := search.Query{Words: words(t, asked.String()), Limit: 1 + w.IntN(15), Offset: w.IntN(30), CountUpTo: bound, Relevance: w.IntN(4) == 0}
		if w.IntN(4) == 0 {
			from := float64(epoch)
			q.Since = &from
		}
		var hits search.Hits
		var sessions search.SessionHits
		if err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
			if hits, err = search.Find(t.Context(), tx, q); err != nil {
				return err
			}
			sessions, err = search.FindSessions(t.Context(), tx, q)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		page := want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))]
		if !q.Relevance && !cmp.Equal(page, hits.Seqs) {
			t.Fatalf("seed %d, query %d: %q finds %v, want %v", seed, i, asked, hits.Seqs, page)
		}
		if hits.Exact && hits.Total != int64(len(want)) || !hits.Exact && (hits.Total >= int64(len(want)) || hits.Total < bound ||
			hits.Total <= int64(q.Offset+q.Limit)) {
			t.Fatalf("seed %d, query %d: %q counts %d (exact: %t) of %d", seed, i, asked, hits.Total, hits.Exact, len(want))
		}
		if !hits.Exact {
			inexact++
		}
		checkBoundedSessions(t, q, sessions, want, known)
	}
	if inexact < 20 {
		t.Errorf("only %d of 100 counts met the bound: they prove little", inexact)
	}
}

// checkBoundedSessions holds a page of work sessions against the events that should be found.
func checkBoundedSessions(t *testing.T, q search.Query, got search.SessionHits, want []int64, known []oracleEvent) {
	t.Helper()
	var names []string
	counts := map[string]int64{}
	for _, seq := range want {
		name := known[seq-1].session
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	expected := names[min(q.Offset, len(names)):min(q.Offset+q.Limit, len(names))]
	found := []string{}
	for _, s := range got.Sessions {
		found = append(found, s.Name)
		if s.Count != counts[s.Name] {
			t.Fatalf("session %s: %d hits, want %d", s.Name, s.Count, counts[s.Name])
		}
		if known[s.Seqs[0]-1].session != s.Name || !slices.Contains(want, s.Seqs[0]) {
			t.Fatalf("session %s: newest hit %d", s.Name, s.Seqs[0])
		}
	}
	if !slices.Equal(found, expected) {
		t.Fatalf("sessions %v, want %v", found, expected)
	}
	if got.Exact && got.Total != int64(len(names)) || !got.Exact && (got.Total > int64(len(names)) || got.Total <= int64(q.Offset+q.Limit)) {
		t.Fatalf("%d sessions (exact: %t) of %d", got.Total, got.Exact, len(names))
	}
}
