package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// pastBundle is a server with a past, on a log whose clock goes on with every event.
type pastBundle struct {
	*testBundle
	moments *moments
}

// moments makes how things stood, and keeps all of it until the test ends. It implements monitor.Past.
type moments struct {
	db    *sqlite.DB
	dir   string
	dress func(*monitor.Moment)
	asked atomic.Int64
	err   error // instead of anything

	mu   sync.Mutex
	made map[int64]*monitor.Moment
	open []*sqlite.Scratch
}

func pastDefinitions() []projections.Definition {
	return append(definitions(), sessions.Definition())
}

// At implements monitor.Past. What is asked for the first time is still being made.
func (m *moments) At(_ context.Context, seq int64) (*monitor.Moment, func(), snapshot.Progress, bool, error) {
	ctx := context.Background()
	m.asked.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, nil, snapshot.Progress{}, false, m.err
	}
	if moment := m.made[seq]; moment != nil {
		return moment, func() {}, snapshot.Progress{}, true, nil
	}
	scratch, err := sqlite.CreateScratch(ctx, sqlite.ScratchOptions{Path: filepath.Join(m.dir, fmt.Sprintf("%d.past", seq)), Log: m.db.Path(), Until: seq})
	if err != nil {
		return nil, nil, snapshot.Progress{}, false, err
	}
	m.open = append(m.open, scratch)
	fold := projections.NewFold(scratch, pastDefinitions(), coordination.RulesV2)
	if err := fold.Run(ctx, m.db, seq, nil); err != nil {
		return nil, nil, snapshot.Progress{}, false, err
	}
	moment := &monitor.Moment{Seq: seq, Store: scratch, Now: time.UnixMilli(0)}
	if seq > 0 {
		e, err := m.db.Event(ctx, seq)
		if err != nil {
			return nil, nil, snapshot.Progress{}, false, err
		}
		moment.Now = time.UnixMilli(e.RecordedAt)
	}
	m.dress(moment)
	m.made[seq] = moment
	return nil, nil, snapshot.Progress{Done: seq / 2, Total: seq, Before: 1}, false, nil
}

// setupPast serves an empty log with its past and a search.
func setupPast(t *testing.T, change ...func(*monitor.Options)) *pastBundle {
	t.Helper()
	b := &testBundle{}
	b.now.Store(noon.UnixMilli())
	now := func() time.Time { return time.UnixMilli(b.now.Load()) }
	dir := t.TempDir()
	db, _ := projectiontest.New(t, sqlite.Options{Path: filepath.Join(dir, "log.db"), Now: now}, pastDefinitions()...)
	rules := coordination.RulesV2
	side, err := sqlite.OpenSide(t.Context(), filepath.Join(dir, "search.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	index, err := search.Open(t.Context(), search.Options{Log: db, File: side, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	fed := make(chan error, 1)
	go func() { fed <- index.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-fed, side.Close()); err != nil {
			t.Error(err)
		}
	})
	m := &moments{db: db, dir: dir, made: map[int64]*monitor.Moment{}, dress: func(*monitor.Moment) {}}
	t.Cleanup(func() {
		for _, s := range m.open {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	b.db = db
	opts := monitor.Options{Store: db, Rules: rules, Now: now, Version: "test", MaxWait: 10 * time.Second, Search: index, Past: m}
	for _, c := range change {
		c(&opts)
	}
	b.monitor = monitor.New(opts)
	s := httptest.NewServer(b.monitor.Handler())
	t.Cleanup(s.Close)
	b.url = s.URL
	return &pastBundle{b, m}
}

// asks returns a monitortest.Ask.
func (b *pastBundle) asks(t *testing.T) monitortest.Ask {
	return func(path string) (int, http.Header, []byte) {
		response, body := b.ask(t, http.MethodGet, path)
		return response.StatusCode, response.Header, body
	}
}

// ownTeam has agents keep their tasks here, as they are configured.
func ownTeam(b *pastBundle) {
	b.moments.dress = func(m *monitor.Moment) {
		m.Team = teamThen
		m.Policy, m.PolicyMatrix = policyThen, matrixThen
	}
}

func teamThen() []config.Agent {
	return []config.Agent{{ID: "Eden", Role: "lead"}, {ID: "seum", Role: "worker"}, {ID: "ruda"}}
}

func policyThen(from, to string) (policy.Policy, error) {
	if to == "stranger" {
		return policy.Policy{}, &policy.NoAgentError{Field: "to", ID: to, Text: "There is no agent stranger"}
	}
	return ruled(from, to, policy.Verdict{Rule: "open", Why: "w"}), nil
}

func matrixThen(from string, most int) (policy.Matrix, error) {
	if from == "stranger" {
		return policy.Matrix{}, &policy.NoAgentError{Field: "from", ID: from, Text: "There is no agent stranger"}
	}
	return policy.Matrix{Agents: []string{"eden"}, Policies: []policy.Policy{ruled("eden", "eden", policy.Verdict{Rule: "open"})}, Count: most}, nil
}

func ruled(from, to string, v policy.Verdict) policy.Policy {
	return policy.Policy{From: from, To: to, Send: v, Spawn: v, Visible: v}
}

// golden are the appends that made a golden log.
func golden(t *testing.T, name string) (appends []eventstore.StreamAppend) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "golden", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		parsed, rejection := ndjson.ParseLine(line)
		if rejection != nil || parsed.Exported == nil {
			t.Fatalf("%s: no exported event: %.200s", name, line)
		}
		e := parsed.Exported
		appends = append(appends, eventstore.StreamAppend{Stream: e.Stream, Events: []eventstore.NewEvent{
			eventstore.NewEvent{Type: e.Type, Ver: e.Ver, AgentID: e.AgentID, Actor: e.Actor, Data: e.Data, CorrelationID: e.CorrelationID}.WithTS(e.TS)}})
	}
	return appends
}

// tell appends events one by one, a second apart, and records at some points what is answered.
func (b *pastBundle) tell(t *testing.T, chance *rand.Rand, appends []eventstore.StreamAppend, points int) (recorded []*monitortest.Recording) {
	t.Helper()
	stops := map[int]bool{len(appends) - 1: true}
	for len(stops) < min(points, len(appends)) {
		stops[chance.IntN(len(appends))] = true
	}
	for i := range appends {
		b.now.Add(1_000)
		if _, err := b.db.Append(t.Context(), appends[i]); err != nil {
			t.Fatalf("event %d, %s: %v", i+1, appends[i].Events[0].Type, err)
		}
		if stops[i] {
			recorded = append(recorded, monitortest.Record(t, b.asks(t), "배포", "ws_golden", "golden", "task"))
		}
	}
	return recorded
}

func TestAsOfIsRefused(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	for range 5 {
		b.appending(t, "a2a.send", `{"toAgent":"ruda"}`)
	}
	for _, c := range []struct {
		path, code, field string
		status            int
	}{
		{"/api/events?as_of=6", "no_such_point", "as_of", http.StatusNotFound},
		{"/api/events?as_of=9223372036854775807", "no_such_point", "as_of", http.StatusNotFound},
		{"/api/events?as_of=-1", "invalid_parameter", "as_of", http.StatusBadRequest},
		{"/api/events?as_of=now", "invalid_parameter", "as_of", http.StatusBadRequest},
		{"/api/events?as_of=1.5", "invalid_parameter", "as_of", http.StatusBadRequest},
		{"/api/events?as_of=3&min_seq=4", "invalid_parameter", "min_seq", http.StatusBadRequest},
		{"/api/events?as_of=3&min_seq=x", "invalid_parameter", "min_seq", http.StatusBadRequest},
		{"/api/health?as_of=3", "as_of_not_supported", "as_of", http.StatusBadRequest},
		{"/api/agents/eden/info?as_of=3", "as_of_not_supported", "as_of", http.StatusBadRequest},
	} {
		status, _, body := b.asks(t)(c.path)
		for status == http.StatusAccepted {
			status, _, body = b.asks(t)(c.path)
		}
		var r refusal
		if err := json.Unmarshal(body, &r); err != nil || status != c.status || r.Code != c.code || r.Field != c.field || r.Hint == "" {
			t.Errorf("%s: %d %s, want %d %s of %s", c.path, status, body, c.status, c.code, c.field)
		}
	}
	for path, method := range map[string]string{"/api/work-sessions/ws_a/category": http.MethodPatch, "/api/tasks/rewrite": http.MethodPost,
		"/api/work/x/cancel": http.MethodPost, "/api/approvals/x/approve": http.MethodPost} {
		response, body := b.ask(t, method, path+"?as_of=3")
		if response.StatusCode != http.StatusBadRequest || !bytes.Contains(body, []byte(`"as_of_not_supported"`)) {
			t.Errorf("%s %s as of an event: %d %s", method, path, response.StatusCode, body)
		}
	}
	if status, _, body := monitortest.AsOf(t, b.asks(t), "/api/events?min_seq=3", 3); status != http.StatusOK {
		t.Errorf("min_seq up to as_of: %d %s", status, body)
	}
	without := setup(t)
	if status, _ := without.ask(t, http.MethodGet, "/api/events?as_of=0"); status.StatusCode != http.StatusBadRequest {
		t.Errorf("a server without a past: %d", status.StatusCode)
	}
}

// The empty log is a valid point.
func TestAsOfTheBeginning(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	b.appending(t, "a2a.send", `{"toAgent":"ruda","message":"배포"}`)
	for path, want := range map[string]string{"/api/events": `"totalMatched":0`, "/api/events/search?q=" + "%EB%B0%B0%ED%8F%AC": `"total":0`, "/api/work-sessions": `"totalSessions":0`} {
		if status, header, body := monitortest.AsOf(t, b.asks(t), path, 0); status != http.StatusOK || !bytes.Contains(body, []byte(want)) || header.Get("X-As-Of-Seq") != "0" {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}

// What cannot be made has its status and code.
func TestAsOfThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	b.appending(t, "a2a.send", `{}`)
	missing := &eventstore.ArchivedError{First: 1, Last: 1, File: "a", Err: os.ErrNotExist}
	for err, want := range map[error]struct {
		status     int
		code       string
		retryAfter bool
	}{
		snapshot.ErrBusy: {http.StatusServiceUnavailable, "busy", true},
		&eventstore.DiskFullError{Err: io.ErrShortWrite}: {http.StatusInsufficientStorage, "disk_full", false},
		eventstore.ErrClosed:                             {http.StatusServiceUnavailable, "closed", true},
		missing:                                          {http.StatusInternalServerError, "archived", false},
		errors.New("defect"):                             {http.StatusInternalServerError, "past_failed", false},
	} {
		b.moments.err = err
		status, header, body := b.asks(t)("/api/events?as_of=1")
		if status != want.status || !bytes.Contains(body, []byte(`"`+want.code+`"`)) || (header.Get("Retry-After") != "") != want.retryAfter {
			t.Errorf("%v: %d %s, want %+v", err, status, body, want)
		}
	}
}

// Of a configuration that was too long for the log nothing is said that depends on it; everything else is answered.
func TestAsOfWithoutSettings(t *testing.T) {
	t.Parallel()
	b := setupPast(t, func(o *monitor.Options) {
		o.OwnTasks, o.Policy, o.PolicyMatrix = &monitor.OwnTasks{Team: teamThen}, policyThen, matrixThen
	})
	b.appending(t, "a2a.send", `{"toAgent":"ruda"}`)
	for path, want := range map[string]int{"/api/agents": 400, "/api/agents/eden/tasks": 400, "/api/agents/eden/plans": 400, "/api/team-state": 400, "/api/approvals": 400,
		"/api/a2a/policy?from=eden&to=seum": 400, "/api/a2a/policy/matrix": 400, "/api/tasks": 200, "/api/work": 200} {
		if status, _, body := monitortest.AsOf(t, b.asks(t), path, 1); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
}

// A foreign page cannot make this server build snapshots.
func TestPagesElsewhereDoNotAskForThePast(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	b.appending(t, "a2a.send", `{}`)
	for _, c := range []struct {
		what, header, value string
		refused             bool
	}{
		{"a page of another site", "Sec-Fetch-Site", "cross-site", true},
		{"one of a browser that says no more than where it comes from", "Origin", "https://evil.example", true},
		{"a page without a site", "Origin", "null", true},
		{"a page of ours", "Sec-Fetch-Site", "same-origin", false},
		{"a page of this machine", "Origin", "http://localhost:3102", false},
	} {
		before := b.moments.asked.Load()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/api/events?as_of=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(c.header, c.value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		asked := b.moments.asked.Load() - before
		if (response.StatusCode == http.StatusForbidden) != c.refused || (asked == 0) != c.refused {
			t.Errorf("%s: %s, the past was asked %d times, want it refused: %v", c.what, response.Status, asked, c.refused)
		}
	}
}

// Every read is either answered as of an event or refused with a reason: what GET /api lists is what is recorded.
func TestEveryListedRouteIsRecorded(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	listed := map[string]bool{}
	for _, route := range monitortest.Routes(t, b.asks(t)) {
		listed["GET "+route] = true
	}
	for _, shown := range monitortest.OnlyNow() {
		if !listed[shown] {
			t.Errorf("%s is not there any more; those are: %v", shown, slices.Sorted(maps.Keys(listed)))
		}
	}
}

// Answers as of an event, and the refusals of them, are those that openapi.yaml describes.
func TestAsOfKeepsTheContract(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	b.appending(t, "a2a.send", `{"toAgent":"ruda","message":"배포","workSessionId":"ws_a"}`)
	contract := newContract(t, b.testBundle)
	check := func(path string, status int) {
		t.Helper()
		contract.check(t, http.MethodGet, path, status)
	}
	check("/api/events?as_of=1", http.StatusAccepted)
	check("/api/events?as_of=2", http.StatusNotFound)
	check("/api/events?as_of=x", http.StatusBadRequest)
	check("/api/agents?as_of=1", http.StatusBadRequest)
	for _, shown := range monitortest.OnlyNow() {
		check(strings.ReplaceAll(strings.TrimPrefix(shown, "GET "), "*", "m1")+"?as_of=1", http.StatusBadRequest)
	}
	for _, route := range monitortest.Routes(t, b.asks(t)) {
		if slices.Contains(monitortest.OnlyNow(), "GET "+route) {
			continue
		}
		path := strings.NewReplacer(":id", "x", ":taskId", "x", ":messageId", "1404000000000000001").Replace(route)
		response, body := b.ask(t, http.MethodGet, path+"?as_of=1&q=x&from=eden&to=seum")
		contract.hold(t, http.MethodGet, path, response.StatusCode, response, body)
	}
	for err, status := range map[error]int{snapshot.ErrBusy: 503, &eventstore.DiskFullError{Err: io.ErrShortWrite}: 507, eventstore.ErrClosed: 503, errors.New("defect"): 500} {
		b.moments.err = err
		check("/api/work?as_of=1", status)
	}
}
