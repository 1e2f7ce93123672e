package monitor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/search"
)

type snippet struct {
	Text, Field string
	Matches     []struct{ Start, End int }
}

// marked are the parts of the text that the matches name.
func (s snippet) marked() []string {
	units := utf16.Encode([]rune(s.Text))
	list := []string{}
	for _, m := range s.Matches {
		list = append(list, string(utf16.Decode(units[m.Start:m.End])))
	}
	return list
}

type foundPage struct {
	Events []struct {
		Seq     int64
		Type    string
		Snippet snippet
		Data    map[string]any
	}
	Sessions []struct {
		workSession
		MatchCount int64
		MatchSeqs  []int64
		Snippet    snippet
	}
	Count, Offset, Limit int
	Total                int64
	TotalIsExact         bool
	Query, Error         string
	NextOffset           *int
	SearchSeq, AsOfSeq   int64
}

func (p foundPage) seqs() []int64 {
	seqs := []int64{}
	for i := range p.Events {
		seqs = append(seqs, p.Events[i].Seq)
	}
	return seqs
}

// searchable serves a log with a search file that is fed. more are lines beside those of smallLog.
func searchable(t *testing.T, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	b := setup(t, append(change, withSearch(t))...)
	b.importing(t,
		event("a2a.send", "main", 0, `"fromAgent":"main","toAgent":"ruda","message":"<@99> 배포 서버 점검","workSessionId":"ws_a","conversationId":"c1","eventRole":"conversation.main"`),
		event("a2a.response", "ruda", 1, `"fromAgent":"ruda","toAgent":"main","message":"😀 배포가 실패했습니다","workSessionId":"ws_a","conversationId":"c1","eventRole":"conversation.main","snippet":"own"`),
		event("task.started", "ruda", 2, `"taskId":"task_ab12","workSessionId":"ws_a","eventRole":"orchestration.task"`),
		event("a2a.spawn", "ruda", 3, `"message":"README.md 배포 문서","workSessionId":"search","eventRole":"delegation.subagent"`),
		event("a2a.send", "eden", 4, `"message":"배포","eventRole":"system.observability"`),
	)
	b.appending(t, "run.started", `{"runId":"r1","message":"배포","workSessionId":"ws_a","eventRole":"system.observability"}`)
	return b
}

// withSearch gives a server a search file that is fed.
func withSearch(t testing.TB) func(*monitor.Options) {
	t.Helper()
	return func(o *monitor.Options) {
		log := o.Store.(*sqlite.DB)
		file, err := sqlite.OpenSide(t.Context(), filepath.Join(t.TempDir(), "search.db"), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		if o.Search, err = search.Open(t.Context(), search.Options{Log: log, File: file, Rules: coordination.RulesV2}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- o.Search.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		o.MaxWait = time.Minute
	}
}

func asking(path, q, more string) string {
	return path + "?min_seq=6&q=" + url.QueryEscape(q) + more
}

func TestSearchFindsEvents(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	for _, c := range []struct {
		q, filters string
		want       []int64
	}{
		{"배포", "", []int64{5, 4, 2, 1}},
		{"배포", "&scope=all", []int64{6, 5, 4, 2, 1}},
		{"실패", "", []int64{2}},
		{"배포 서버", "", []int64{1}},
		{"배포 -실패", "", []int64{5, 4, 1}},
		{"배포", "&role=conversation.main", []int64{2, 1}},
		{"배포", "&role=conversation.main,delegation.subagent", []int64{4, 2, 1}},
		{"배포", "&role=orchestration.task", []int64{}},
		{"배포", "&type=a2a.send", []int64{5, 1}},
		{"배포", "&viewCategory=all", []int64{5, 4, 2, 1}},
		{"배포", "&viewCategory=growth_marketing", []int64{}},
		{"배포", "&since=2026-02-20T12:01:00Z", []int64{5, 4, 2}},
		{"배포", "&since=2026-02-20T12:01:00Z&until=2026-02-20T12:03:00Z", []int64{4, 2}},
		{"배포", "&workSession=ws_a", []int64{2, 1}},
		{"배포", "&workSession=ws:ws_a,search", []int64{4, 2, 1}},
		{"배포", "&agent=RUDA", []int64{4, 2, 1}},
		{"배포", "&limit=2", []int64{5, 4}},
		{"배포", "&limit=2&offset=2", []int64{2, 1}},
		{"배포", "&offset=4", []int64{}},
		{"task_ab12", "", []int64{3}},
		{"readme", "", []int64{4}},
		{"nothing", "", []int64{}},
	} {
		a := get[foundPage](t, b, asking("/api/events/search", c.q, c.filters), http.StatusOK)
		if diff := cmp.Diff(c.want, a.seqs()); diff != "" {
			t.Errorf("%s%s (-want +got):\n%s", c.q, c.filters, diff)
		}
		if a.Query != c.q || a.Count != len(c.want) || a.SearchSeq != 6 || a.AsOfSeq != 6 || a.Error != "" {
			t.Errorf("%s%s: %+v", c.q, c.filters, a)
		}
	}
	a := get[foundPage](t, b, asking("/api/events/search", "배포 실패", ""), http.StatusOK)
	if s := a.Events[0].Snippet; s.Text != "😀 배포가 실패했습니다" || s.Field != "message" || strings.Join(s.marked(), " ") != "배포 실패" {
		t.Errorf("snippet %+v", s)
	}
	if a.Events[0].Data["snippet"] != "own" {
		t.Errorf("data %v: a member of the record is lost", a.Events[0].Data)
	}
	if a = get[foundPage](t, b, asking("/api/events/search", "점검", ""), http.StatusOK); strings.Contains(a.Events[0].Snippet.Text, "<@") {
		t.Errorf("snippet %q is not cleaned", a.Events[0].Snippet.Text)
	}
	a = get[foundPage](t, b, asking("/api/events/search", "배포", "&limit=3&sort=relevance"), http.StatusOK)
	if a.Total != 4 || a.Count != 3 || a.NextOffset == nil || *a.NextOffset != 3 || a.Events[0].Seq != 5 {
		t.Errorf("by relevance %v of %d, next %v; want the shortest text first", a.seqs(), a.Total, a.NextOffset)
	}
}

func TestSearchFindsWorkSessions(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	a := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&include=summary"), http.StatusOK)
	if a.Total != 2 || a.Count != 2 || a.Sessions[0].WorkSessionID != "search" || a.Sessions[1].WorkSessionID != "ws_a" {
		t.Fatalf("found %+v", a)
	}
	s := a.Sessions[1]
	if s.MatchCount != 2 || !cmp.Equal(s.MatchSeqs, []int64{2, 1}) || s.Snippet.Text != "😀 배포가 실패했습니다" || s.Title == "" {
		t.Errorf("session %+v", s)
	}
	if len(s.Threads) == 0 || s.Threads[0].Events != nil {
		t.Errorf("threads %+v, want them without events", s.Threads)
	}
	a = get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&limit=1&offset=1&role=conversation.main,delegation.subagent"), http.StatusOK)
	if a.Total != 2 || a.Count != 1 || a.NextOffset != nil || len(a.Sessions[0].Threads[0].Events) != 2 {
		t.Errorf("second page %+v", a)
	}
	// Each of the two is found by its own state, and not by others.
	for _, s := range a.Sessions {
		if s.Outcome == "" {
			t.Fatalf("session %s has no outcome", s.WorkSessionID)
		}
	}
	all := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&include=summary"), http.StatusOK)
	for _, outcome := range []string{"active", "waiting", "blocked", "no_reply", "done"} {
		var want []string
		for _, s := range all.Sessions {
			if s.Outcome == outcome {
				want = append(want, s.WorkSessionID)
			}
		}
		var got []string
		a := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&include=summary&status=ACTIVE,QUIET,ARCHIVED&outcome="+outcome), http.StatusOK)
		for _, s := range a.Sessions {
			got = append(got, s.WorkSessionID)
		}
		if !cmp.Equal(got, want) || a.Total != int64(len(want)) || !a.TotalIsExact {
			t.Errorf("outcome %s: found %v, want %v; total %d", outcome, got, want, a.Total)
		}
	}
	open := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&open=true&limit=1"), http.StatusOK)
	closed := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", "&open=false"), http.StatusOK)
	if open.Total+closed.Total != 2 || open.Count > 1 {
		t.Errorf("open %d, others %d, want both of the two sessions", open.Total, closed.Total)
	}
	// A work session may be called as the endpoint is.
	if d := get[detail](t, b, "/api/work-sessions/ws:search", http.StatusOK); d.Session.WorkSessionID != "search" {
		t.Errorf("session %q", d.Session.WorkSessionID)
	}
}

func TestRedactedEventsDisappearFromSearch(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	for _, seq := range []int64{2, 4} {
		if err := b.db.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	if a := get[foundPage](t, b, asking("/api/work-sessions/search", "배포", ""), http.StatusOK); a.Total != 1 || a.Sessions[0].MatchCount != 1 {
		t.Errorf("sessions: %+v", a)
	}
	if a := get[foundPage](t, b, asking("/api/events/search", "배포", "&limit=1"), http.StatusOK); a.Total != 2 {
		t.Errorf("%d events are counted, want 2", a.Total)
	}
	if a := get[foundPage](t, b, asking("/api/events/search", "실패", ""), http.StatusOK); a.Total != 0 || a.Count != 0 {
		t.Errorf("redacted words are found: %+v", a)
	}
}

// Who has just written something may wait until it is found; a search that does not come so far says so.
func TestSearchWaitsForASeq(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	for i := range 5 {
		seq := b.appending(t, "note.written", fmt.Sprintf(`{"message":"새글%d"}`, i))
		a := get[foundPage](t, b, fmt.Sprintf("/api/events/search?q=%s&min_seq=%d", url.QueryEscape(fmt.Sprintf("새글%d", i)), seq), http.StatusOK)
		if a.Total != 1 || a.SearchSeq < seq {
			t.Errorf("event %d: %+v", seq, a)
		}
	}
	stopped := func(wait time.Duration) *testBundle {
		b := setup(t, func(o *monitor.Options) {
			o.MaxWait = wait
			file, err := sqlite.OpenSide(t.Context(), filepath.Join(t.TempDir(), "search.db"), false)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			if o.Search, err = search.Open(t.Context(), search.Options{Log: o.Store.(*sqlite.DB), File: file, Rules: coordination.RulesV2}); err != nil {
				t.Fatal(err)
			}
		})
		b.appending(t, "note.written", `{"message":"배포"}`)
		return b
	}
	if r := get[refusal](t, stopped(50*time.Millisecond), "/api/events/search?q=x&min_seq=1", http.StatusServiceUnavailable); r.Code != "behind" || r.Field != "min_seq" {
		t.Errorf("a search file that is not fed: %+v", r)
	}
	if a := get[foundPage](t, stopped(testscale.Patience), "/api/events/search?q=%EB%B0%B0%ED%8F%AC", http.StatusOK); a.SearchSeq != 0 || a.AsOfSeq != 1 || a.Total != 0 {
		t.Errorf("it says how far it is: %+v", a)
	}
}

func TestSearchAnswersKeepTheContract(t *testing.T) {
	t.Parallel()
	b := searchable(t)
	contract := newContract(t, b)
	for path, status := range map[string]int{
		asking("/api/events/search", "배포", "&scope=all"):                       200,
		asking("/api/events/search", "배포", "&sort=relevance&limit=2&offset=1"): 200,
		asking("/api/events/search", "실패", "&since=2026-02-20"):                200,
		asking("/api/work-sessions/search", "배포", ""):                          200,
		asking("/api/work-sessions/search", "배포", "&limit=1"):                  200,
		"/api/events/search?q=-x":                                              400,
	} {
		contract.check(t, http.MethodGet, path, status)
	}
}
