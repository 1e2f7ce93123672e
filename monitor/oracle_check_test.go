package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

// oracleQuestions is how many questions are asked of each.
var oracleQuestions = testscale.Of(20, 25)

// oracleEvents is how many events each of them has.
var oracleEvents = testscale.Of(400, 800)

// oracleLogs is how many random logs are compared with a naive computation.
var oracleLogs = testscale.Of(1, 2)

// TestAnswersEqualANaiveComputation asks random questions of random logs and compares with what reading all events gives.
//
// Promise: contract
func TestAnswersEqualANaiveComputation(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range oracleLogs {
		b := setup(t)
		b.now.Store(int64(at(statusNow)))
		for _, part := range slices.Collect(slices.Chunk(randomLog(r, oracleEvents), 1+r.IntN(oracleEvents/2))) {
			b.importing(t, part...)
		}
		o := newOracle(t, b)
		for range oracleQuestions {
			q := ask(r)
			o.checkEvents(t, b, &q)
			o.checkSessions(t, b, &q)
		}
		if t.Failed() {
			return
		}
	}
}

func (o *oracle) checkEvents(t *testing.T, b *testBundle, q *question) {
	t.Helper()
	want, categories := o.matching(q)
	got := []int64{}
	for cursor, pages := "", 0; pages <= len(want); pages++ {
		page := get[eventPage](t, b, "/api/events?"+q.query()+"&cursor="+url.QueryEscape(cursor), http.StatusOK)
		got = append(page.seqs(), got...)
		if page.TotalMatched != int64(len(want)) || page.Total != int64(len(o.events)) {
			t.Errorf("events?%s: totalMatched %d, total %d; want %d, %d", q.query(), page.TotalMatched, page.Total, len(want), len(o.events))
		}
		if diff := gocmp.Diff(categories, page.CategoryCounts); diff != "" {
			t.Errorf("events?%s: categoryCounts (-want +got)\n%s", q.query(), diff)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("events?%s: seqs (-want +got)\n%s", q.query(), diff)
	}
	forward := []int64{}
	for after, pages := int64(0), 0; after < int64(len(o.events)) && pages <= len(want)+1; pages++ {
		page := get[eventPage](t, b, fmt.Sprintf("/api/events?%s&after=%d", q.query(), after), http.StatusOK)
		forward = append(forward, page.seqs()...)
		after = page.NextAfter
	}
	if diff := gocmp.Diff(want, forward); diff != "" {
		t.Errorf("events?%s: seqs with after (-want +got)\n%s", q.query(), diff)
	}
}

func (o *oracle) checkSessions(t *testing.T, b *testBundle, q *question) {
	t.Helper()
	want, categories, total := o.sessions(q)
	got := []listing{}
	for cursor, pages := "", 0; pages <= len(want); pages++ {
		page := get[sessionPage](t, b, "/api/work-sessions?include=summary&"+q.query()+"&cursor="+url.QueryEscape(cursor), http.StatusOK)
		for _, s := range page.Sessions {
			got = append(got, listing{name: s.WorkSessionID, first: s.StartTime, last: s.LastTime, events: s.EventCount, threads: s.ThreadCount, status: s.Status})
		}
		if page.TotalMatched != int64(len(want)) || page.TotalSessions != total {
			t.Errorf("work-sessions?%s: totalMatched %d, totalSessions %d; want %d, %d", q.query(), page.TotalMatched, page.TotalSessions, len(want), total)
		}
		if diff := gocmp.Diff(categories, page.CategoryCounts); diff != "" {
			t.Errorf("work-sessions?%s: categoryCounts (-want +got)\n%s", q.query(), diff)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	for i := range want {
		want[i].id = 0 // not shown
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(listing{})); diff != "" {
		t.Errorf("work-sessions?%s (-want +got)\n%s", q.query(), diff)
	}
}
