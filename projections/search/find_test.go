package search_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/search"
)

// written feeds events of a writer and returns them as the oracle knows them, by seq - 1.
func written(t testing.TB, b *bundle, w writer, n int) []oracleEvent {
	t.Helper()
	var known []oracleEvent
	for len(known) < n {
		batch := make([]eventstore.NewEvent, min(50, n-len(known)))
		for i := range batch {
			var o oracleEvent
			batch[i], o = w.event(t)
			known = append(known, o)
		}
		b.append(t, batch...)
	}
	b.await(t)
	return known
}

func bruteForce(known []oracleEvent, matches func(*oracleEvent) bool) []int64 {
	seqs := []int64{}
	for i := range slices.Backward(known) {
		if matches(&known[i]) {
			seqs = append(seqs, int64(i+1))
		}
	}
	return seqs
}

// The promise: 1,000 Korean queries find what brute force finds.
//
// Promise: search
func TestThousandKoreanQueriesAgreeWithBruteForce(t *testing.T) {
	t.Parallel()
	const seed = 20_261_121
	b, w := setup(t), newWriter(seed)
	known := written(t, b, w, 600)
	hits := 0
	for i := range 1_000 {
		q := w.query()
		matches := q.matcher()
		want := bruteForce(known, func(o *oracleEvent) bool { return matches(o.texts) })
		found := b.find(t, q.String())
		if diff := cmp.Diff(want, found.Seqs); diff != "" || found.Total != int64(len(want)) {
			t.Fatalf("seed %d, query %d: %q finds %d events (-brute force +found):\n%s", seed, i, q, found.Total, diff)
		}
		if len(want) > 0 {
			hits++
		}
	}
	if hits < 400 {
		t.Errorf("only %d of 1,000 queries find anything: they prove little", hits)
	}
}

func TestWordsWithParticlesAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t,
		said("코드리뷰를 부탁드립니다", "taskId", "task_ab12", "workSessionId", "ws_fx_cat_01"),                 // 1
		said("배포가 실패했습니다. cmd/main.go 를 보세요"),                                                        // 2
		said("deployment finished", "replyPreview", "API를 확인"),                                       // 3
		said("redeploy", "label", "배포 2차"),                                                           // 4
		eventstore.NewEvent{Type: "task.started", AgentID: "Eden", Data: []byte(`{"title":"리뷰 봄"}`)}, // 5
	)
	b.await(t)
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"리뷰", []int64{5, 1}},
		{"실패", []int64{2}},
		{"뷰", []int64{5, 1}},
		{"봄", []int64{5}},
		{"리뷰가", []int64{}},
		{"배포", []int64{4, 2}},
		{"배포 -실패", []int64{4}},
		{`"배포가 실패"`, []int64{2}},
		{`"배포 실패"`, []int64{}},
		{"실패 배포", []int64{2}},
		{"deploy", []int64{3}},
		{"DEPLOYMENT", []int64{3}},
		{"ploy", []int64{}},
		{"api", []int64{3}},
		{"API를", []int64{3}},
		{"api확인", []int64{}},
		{"2차", []int64{4}},
		{"task_ab12", []int64{1}},
		{"task_ab", []int64{1}},
		{"ab12", []int64{1}},
		{"ws_fx_cat_01", []int64{1}},
		{"fx_cat", []int64{1}},
		{"main.go", []int64{2}},
		{"cmd/main.go", []int64{2}},
		{"eden", []int64{5}},
		{"task.started", []int64{5}},
		{"부탁드립니다 실패", []int64{}},
		{"드립니다task", []int64{}}, // the end of one text and the beginning of another
		{"\u1105\u1175\u1107\u1172", []int64{5, 1}},
	} {
		if got := b.find(t, c.query); describe(got.Seqs) != describe(c.want) || got.Total != int64(len(c.want)) {
			t.Errorf("%q finds %v of %d, want %v", c.query, got.Seqs, got.Total, c.want)
		}
	}
}

func TestFiltersAgreeWithBruteForce(t *testing.T) {
	t.Parallel()
	const seed = 3
	b, w := setup(t), newWriter(seed)
	known := written(t, b, w, 400)
	for i := range 200 {
		q := oracleQuery{wanted: []string{pick(w, nouns)}}
		var types, agents, sessions []string
		var since, until *float64
		if w.IntN(2) == 0 {
			types = []string{pick(w, kinds), pick(w, kinds)}
		}
		if w.IntN(3) == 0 {
			agents = []string{strings.ToUpper(pick(w, team))}
		}
		if w.IntN(3) == 0 {
			sessions = []string{"ws_1", "ws_2", "ws_3", "ws_nowhere"}
		}
		if w.IntN(3) == 0 {
			from := float64(epoch + w.IntN(1_000_000))
			since = &from
		}
		if w.IntN(3) == 0 {
			to := float64(epoch + w.IntN(1_000_000))
			until = &to
		}
		matches := q.matcher()
		want := bruteForce(known, func(o *oracleEvent) bool {
			return matches(o.texts) && (types == nil || slices.Contains(types, o.typ)) &&
				(agents == nil || strings.EqualFold(agents[0], o.from)) && (sessions == nil || slices.Contains(sessions, o.session)) &&
				(since == nil || float64(o.time) >= *since) && (until == nil || float64(o.time) <= *until)
		})
		filter := func(s *search.Query) {
			s.Types, s.Agents, s.Sessions, s.Since, s.Until = types, agents, sessions, since, until
		}
		if found := b.find(t, q.String(), filter); !cmp.Equal(want, found.Seqs) || found.Total != int64(len(want)) {
			t.Fatalf("seed %d, query %d: %v finds %v of %d, want %v", seed, i, q, found.Seqs, found.Total, want)
		}
		ranked := b.find(t, q.String(), filter, func(s *search.Query) { s.Relevance = true })
		if slices.Sort(ranked.Seqs); ranked.Total != int64(len(want)) || describe(ranked.Seqs) != describe(sorted(want)) {
			t.Fatalf("seed %d, query %d: by relevance %v finds %v, want %v", seed, i, q, ranked.Seqs, want)
		}
		b.checkSessions(t, q.String(), filter, want, known)
	}
}

// checkSessions holds the work sessions that a query finds against those of the events that it should find.
func (b *bundle) checkSessions(t *testing.T, query string, filter func(*search.Query), want []int64, known []oracleEvent) {
	t.Helper()
	q := search.Query{Words: words(t, query), Limit: 5}
	filter(&q)
	var expected []string
	counts := map[string]int64{}
	for _, seq := range want {
		name := known[seq-1].session
		if counts[name]++; counts[name] == 1 {
			expected = append(expected, name)
		}
	}
	var got []string
	for {
		var page search.SessionHits
		if err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
			page, err = search.FindSessions(t.Context(), tx, q)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if page.Total != int64(len(expected)) {
			t.Fatalf("%q: %d sessions, want %d", query, page.Total, len(expected))
		}
		for _, s := range page.Sessions {
			got = append(got, s.Name)
			of := slices.DeleteFunc(slices.Clone(want), func(seq int64) bool { return known[seq-1].session != s.Name })
			if s.Count != counts[s.Name] || describe(s.Seqs) != describe(of[:min(len(of), 20)]) {
				t.Fatalf("%q: session %s has %d hits %v, want %v", query, s.Name, s.Count, s.Seqs, of)
			}
		}
		if q.Offset += q.Limit; len(page.Sessions) < q.Limit {
			break
		}
	}
	if !slices.Equal(got, expected) {
		t.Fatalf("%q: sessions %v, want %v", query, got, expected)
	}
}

func sorted(seqs []int64) []int64 {
	seqs = slices.Clone(seqs)
	slices.Sort(seqs)
	return seqs
}

func TestPagesHaveNoGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var events []eventstore.NewEvent
	for i := range 53 {
		events = append(events, said(fmt.Sprintf("배포 %s", strings.Repeat("로그 ", i%7))))
	}
	b.append(t, events...)
	b.await(t)
	for _, relevance := range []bool{false, true} {
		var got []int64
		for offset := 0; offset < 70; offset += 10 {
			page := b.find(t, "배포", func(q *search.Query) { q.Limit, q.Offset, q.Relevance = 10, offset, relevance })
			if page.Total != 53 || len(page.Seqs) != max(0, min(10, 53-offset)) {
				t.Errorf("page at %d has %d of %d", offset, len(page.Seqs), page.Total)
			}
			got = append(got, page.Seqs...)
		}
		if !relevance && !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("not the newest first: %v", got)
		}
		if slices.Sort(got); len(slices.Compact(got)) != 53 {
			t.Errorf("pages hold %d different events of 53", len(got))
		}
	}
	if first := b.find(t, "배포", func(q *search.Query) { q.Limit, q.Relevance = 1, true }).Seqs; len(first) != 1 || first[0]%7 != 1 {
		t.Errorf("the shortest of the texts is the most relevant; first is %v", first)
	}
}

func TestOwnBookkeepingIsFoundWhenAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own := said("배포 기록")
	own.Type = "run.started"
	imported := own
	imported.Actor = eventstore.ActorImport
	b.append(t, own, imported)
	b.await(t)
	if got := b.find(t, "배포"); describe(got.Seqs) != "[2]" {
		t.Errorf("finds %v, want only what was imported", got.Seqs)
	}
	if got := b.find(t, "배포", func(q *search.Query) { q.Internal = true }); describe(got.Seqs) != "[2 1]" {
		t.Errorf("finds %v, want both", got.Seqs)
	}
}

func TestSecretsAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, said("token: sk-abcdefghijklmnop1234 배포"))
	b.await(t)
	if got := b.find(t, "배포"); got.Total != 1 {
		t.Errorf("the words beside a secret: %d hits, want 1", got.Total)
	}
	for _, secret := range []string{"abcdefghijklmnop1234", "abcdef", "sk-abcdef"} {
		if got := b.find(t, secret); got.Total != 0 {
			t.Errorf("%q is found", secret)
		}
	}
}
