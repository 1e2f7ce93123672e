package monitor_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// keeping is a server that keeps answers, beside one on the same log that keeps nothing.
type keeping struct {
	*testBundle
	engine *projections.Engine
	name   atomic.Value // of the user 1001, as the bots know it
	fresh  http.Handler
}

// unmarked is a log whose state is unknown, so that nothing can be kept.
type unmarked struct{ monitor.Store }

func (unmarked) Mark() eventstore.Mark { return eventstore.Mark{} }

func (u unmarked) ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error {
	return u.View(ctx, func(tx *sql.Tx) error { return read(tx, u.Mark()) })
}

func setupKeeping(t testing.TB, withBots bool) *keeping {
	k := &keeping{testBundle: &testBundle{}}
	k.db, k.engine = projectiontest.New(t, sqlite.Options{Now: func() time.Time { return noon }}, definitions()...)
	k.now.Store(noon.UnixMilli())
	k.name.Store("민수")
	opts := monitor.Options{Store: k.db, Rules: coordination.RulesV2, Now: func() time.Time { return time.UnixMilli(k.now.Load()) }, Version: "test", MaxEvents: 40, MaxBytes: 12_000}
	if withBots {
		opts.Names = func(text string) string { return strings.ReplaceAll(text, "<@1001>", "@"+k.name.Load().(string)) }
	}
	k.monitor = monitor.New(opts)
	opts.Store = unmarked{k.db}
	k.fresh = monitor.New(opts).Handler()
	return k
}

// paths ask for what may be kept.
var keptPaths = []string{
	"/api/work-sessions?limit=20", "/api/work-sessions?limit=2&role=conversation.main", "/api/work-sessions?include=summary", "/api/work-sessions?status=ACTIVE,QUIET",
	"/api/work-sessions?scope=all&limit=5", "/api/work-sessions/ws_0", "/api/work-sessions/ws_1?include=summary", "/api/work-sessions/ws_2?limit=3",
	"/api/work-sessions/ws_2?limit=2&after=2", "/api/events?limit=100", "/api/events?limit=5&role=conversation.main", "/api/events?scope=all&limit=30",
	"/api/events?workSession=ws_1", "/api/events?limit=3&after=4", "/api/health",
}

// same asks both servers, the one that keeps answers twice.
func (k *keeping) same(t interface {
	Helper()
	Fatalf(string, ...any)
}, after string) {
	t.Helper()
	ask := func(h http.Handler, path string) (seq, body string) {
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3847"+path, nil)
		response := httptest.NewRecorder()
		h.ServeHTTP(response, request)
		return fmt.Sprint(response.Code, " ", response.Header().Get("X-As-Of-Seq")), response.Body.String()
	}
	for _, path := range keptPaths {
		wantSeq, want := ask(k.fresh, path)
		for before := range 2 {
			if seq, got := ask(k.monitor.Handler(), path); seq != wantSeq || got != want {
				t.Fatalf("%s after %s, asked %d times before:\n%s %s\nwant\n%s %s", path, after, before, seq, got, wantSeq, want)
			}
		}
	}
}

// act does something that changes answers.
func (k *keeping) act(t testing.TB, r *rapid.T) string {
	text := rapid.SampledFrom([]string{"점검 <@1001> 부탁", "task_a1 를 봐 주세요", "a < b & \\\"c\\\" \\u2028 \\t", "", "NO_REPLY", strings.Repeat("길다 ", 500)})
	session, conversation := rapid.IntRange(0, 3).Draw(r, "session"), rapid.IntRange(0, 2).Draw(r, "conversation")
	minute := rapid.Float64Range(-2_000, 60).Draw(r, "minute")
	data := fmt.Sprintf(`"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_%d","conversationId":"c%d_%d","message":"%s"`,
		session, session, conversation, text.Draw(r, "text"))
	action := rapid.SampledFrom([]string{"import", "append", "answer", "task", "override", "clear", "configure", "redact", "blank", "rebuild", "time", "name"}).Draw(r, "action")
	switch action {
	case "import":
		k.importing(t, " "+event("a2a.send", "eden", minute, data+fmt.Sprintf(`, "eventRole": "conversation.main", "n":%f`, minute)))
	case "append":
		k.appending(t, "a2a.send", "{"+data+"}")
	case "answer":
		k.importing(t, event("a2a.response", "seum", minute, data+`,"outcome":"blocked"`), event("a2a.complete", "eden", minute+1, data))
	case "task":
		id := rapid.SampledFrom([]string{"task_a1", "task_a2"}).Draw(r, "task")
		k.tasked(t, "eden", id, coordination.TypeTaskStarted, minute, coordination.TaskStarted{Context: ofTask(id, fmt.Sprintf("ws_%d", session)),
			Priority: "low", Description: rapid.SampledFrom([]string{"로그인 구현", "배포"}).Draw(r, "title"), Progress: "Task started"})
	case "override", "clear":
		method, body := http.MethodPatch, `{"collabCategory":"infra_ops"}`
		if action == "clear" {
			method, body = http.MethodDelete, ""
		}
		k.from("127.0.0.1:40000", method, fmt.Sprintf("/api/work-sessions/ws_%d/category", session), body)
	case "configure":
		k.appending(t, coordination.TypeConfigApplied, fmt.Sprintf(`{"hash":"h","source":"s","agents":[{"id":"eden","name":"이든%d"},{"id":"seum"}],"mentions":{"1001":"루다%d"}}`, session, session))
	case "redact":
		k.redact(t, r)
	case "blank":
		if seq := k.anyEvent(t, r); seq > 0 {
			if err := k.db.Redact(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
	case "rebuild": // mostly one of those that answers come from, as that takes a fraction of the time
		names := rapid.SampledFrom([][]string{{"index"}, {conversations.Name}, {tasks.Name}, {"index", conversations.Name}, nil}).Draw(r, "names")
		if err := k.engine.Rebuild(t.Context(), projections.RebuildOptions{Names: names}); err != nil {
			t.Fatal(err)
		}
	case "time":
		k.now.Add(rapid.SampledFrom([]int64{1, 60_000, 3_600_000, 12 * 3_600_000, 24*3_600_000 + 1, -60_000}).Draw(r, "ms"))
	case "name":
		k.name.Store(fmt.Sprintf("민수%d", session))
	}
	return action
}

func (k *keeping) anyEvent(t testing.TB, r *rapid.T) int64 {
	head, err := k.db.Head(t.Context())
	if err != nil || head.Seq == 0 {
		return 0
	}
	return rapid.Int64Range(1, head.Seq).Draw(r, "seq")
}

// redact blanks an event as redactions do, with their event.
func (k *keeping) redact(t testing.TB, r *rapid.T) {
	seq := k.anyEvent(t, r)
	_, err := k.db.RedactBy(context.Background(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
		return []int64{seq}, []eventstore.StreamAppend{{Stream: "redaction/r1", Events: []eventstore.NewEvent{
			{Type: coordination.TypeLogRedacted, Data: fmt.Appendf(nil, `{"redactionId":"r1","seqs":[%d]}`, seq)}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is kept is what would be answered without it, whatever happens: appends, late events, overrides, redactions, rebuilt tables, another
// team, other titles of tasks, the time, and names that only bots know.
//
// Promise: kept
func TestKeptAnswersAreTheAnswers(t *testing.T) {
	t.Parallel()
	steps := testscale.Of(12, 20*testscale.Times)
	rapid.Check(t, func(r *rapid.T) {
		k := setupKeeping(t, rapid.Bool().Draw(r, "with bots"))
		for range steps {
			k.same(r, k.act(t, r))
		}
	})
}

// A session is archived when its time has come, though nothing is committed, and not before; a clock that is set back finds it as it was.
func TestKeptAnswersFollowTheTime(t *testing.T) {
	t.Parallel()
	k := setupKeeping(t, false)
	k.importing(t, event("a2a.send", "eden", 0, `"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_1","conversationId":"c1","message":"m"`))
	for _, path := range []string{"/api/work-sessions", "/api/work-sessions/ws_1", "/api/work-sessions/ws_1?limit=1"} {
		for _, step := range []struct {
			at     int64 // ms after noon
			status string
		}{{0, "ACTIVE"}, {86_399_998, "ACTIVE"}, {86_400_000, "ACTIVE"}, {86_400_001, "ARCHIVED"}, {200_000_000, "ARCHIVED"}, {86_400_000, "ACTIVE"}, {1, "ACTIVE"}} {
			k.now.Store(noon.UnixMilli() + step.at)
			for range 2 {
				if body := k.from("127.0.0.1:40000", http.MethodGet, path, "").Body.String(); !strings.Contains(body, `"status":"`+step.status+`"`) {
					t.Errorf("%s, %d ms after noon: want %s in %s", path, step.at, step.status, body)
				}
			}
		}
	}
}

// A redacted text is not told any more, from no memory.
//
// Promise: kept
func TestRedactedTextIsNotKept(t *testing.T) {
	t.Parallel()
	const secret = "비밀번호는 나비"
	k := setupKeeping(t, false)
	k.importing(t, event("a2a.send", "eden", 0, `"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_1","conversationId":"c1","message":"`+secret+`"`))
	paths := []string{"/api/events?limit=10", "/api/work-sessions", "/api/work-sessions/ws_1"}
	told := func() (n int) {
		for _, path := range paths {
			for range 2 {
				if strings.Contains(k.from("127.0.0.1:40000", http.MethodGet, path, "").Body.String(), secret) {
					n++
				}
			}
		}
		return n
	}
	if n := told(); n != 2*len(paths) {
		t.Fatalf("%d answers tell it before, want all %d", n, 2*len(paths))
	}
	if err := k.db.Redact(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	// Titles of sessions stay until the tables are rebuilt.
	if err := k.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := told(); n != 0 {
		t.Errorf("%d answers tell it afterwards", n)
	}
}

// Who has written reads it, while others ask for the same and have it kept: what is answered is never older than what was stored before.
//
// Promise: kept
func TestKeptAnswersAreNotBehindWrites(t *testing.T) {
	t.Parallel()
	k := setupKeeping(t, false)
	paths := []string{"/api/events?limit=2", "/api/work-sessions?limit=3&include=summary", "/api/work-sessions/ws_0?limit=1", "/api/health"}
	k.appending(t, "a2a.send", `{"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_0","conversationId":"c0","message":"0"}`)
	asOf := func(path string) int64 {
		response := k.from("127.0.0.1:40000", http.MethodGet, path, "")
		seq, err := strconv.ParseInt(response.Header().Get("X-As-Of-Seq"), 10, 64)
		if err != nil || response.Code != http.StatusOK {
			t.Errorf("%s: %d, %v", path, response.Code, err)
		}
		return seq
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for _, path := range paths {
		others.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				now := asOf(path)
				if now < last {
					t.Errorf("%s is as of %d, and was as of %d before", path, now, last)
				}
				last = now
			}
		})
	}
	for i := range testscale.Of(100, 2_000) {
		seq := k.appending(t, "a2a.send", fmt.Sprintf(`{"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_0","conversationId":"c%d","message":"%d"}`, i%5, i))
		for _, path := range paths {
			if got := asOf(path); got < seq {
				t.Errorf("%s is as of %d after event %d was stored", path, got, seq)
			}
		}
	}
	stop()
	others.Wait()
}

// counting counts the snapshots and the events that are read.
type counting struct {
	monitor.Store
	views, queries, events atomic.Int64
}

func (c *counting) View(ctx context.Context, read func(*sql.Tx) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, read)
}

func (c *counting) ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error {
	c.views.Add(1)
	return c.Store.ViewMarked(ctx, read)
}

func (c *counting) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	c.queries.Add(1)
	c.events.Add(int64(len(seqs)))
	return c.Store.EventsIn(ctx, tx, seqs)
}

// A page reads its events at once, the same page again reads nothing, and after an append only the new event.
func TestWhatAPageReads(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/api/events?limit=100", "/api/work-sessions?limit=20", "/api/work-sessions/ws_1"} {
		var log *counting
		b := setup(t, func(o *monitor.Options) {
			log = &counting{Store: o.Store}
			o.Store = log
		})
		line := func(i int) string {
			return event("a2a.send", "eden", float64(i), fmt.Sprintf(`"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_1","conversationId":"c%d","message":"m"`, i%3))
		}
		lines := make([]string, 60)
		for i := range lines {
			lines[i] = line(i)
		}
		b.importing(t, lines...)
		for _, step := range []struct {
			what                   string
			views, queries, events int64
		}{{"first", 1, 1, 60}, {"again", 0, 0, 0}, {"after an append", 1, 1, 1}, {"again", 0, 0, 0}} {
			if step.what == "after an append" {
				b.importing(t, line(60))
			}
			log.views.Store(0)
			log.queries.Store(0)
			log.events.Store(0)
			if response, body := b.ask(t, http.MethodGet, path); response.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", path, body)
			}
			if views, queries, events := log.views.Load(), log.queries.Load(), log.events.Load(); views != step.views || queries != step.queries || events > step.events {
				t.Errorf("%s, %s: %d snapshots, %d queries for %d events; want %d, %d, %d", path, step.what, views, queries, events, step.views, step.queries, step.events)
			}
		}
	}
}
