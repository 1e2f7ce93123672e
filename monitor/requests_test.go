package monitor_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// direct asks without a connection, for requests that a client would not send.
func (b *testBundle) direct(path, query string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(response, &http.Request{Method: http.MethodGet, Host: "127.0.0.1", Header: http.Header{},
		Body: http.NoBody, URL: &url.URL{Path: path, RawQuery: query}})
	return response
}

func TestBadParametersAreRefusedByName(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	events, sessions, one := "/api/events", "/api/work-sessions", "/api/work-sessions/ws_a"
	for _, c := range []struct {
		paths []string
		query string
		field string
	}{
		{[]string{events, sessions}, "limit=0", "limit"},
		{[]string{events, sessions}, "limit=-1", "limit"},
		{[]string{events, sessions}, "limit=1001", "limit"},
		{[]string{events, sessions}, "limit=1.5", "limit"},
		{[]string{events, sessions}, "limit=ten", "limit"},
		{[]string{events, sessions}, "limit=0x10", "limit"},
		{[]string{events, sessions}, "limit=99999999999999999999", "limit"},
		{[]string{events, sessions}, "since=yesterday", "since"},
		{[]string{events, sessions}, "since=2026-13-01", "since"},
		{[]string{events, sessions}, "since=1e99", "since"},
		{[]string{events, sessions}, "since=NaN", "since"},
		{[]string{events, sessions}, "since=0x1p3", "since"},
		{[]string{events, sessions}, "since=%5B%5D", "since"},
		{[]string{events, sessions}, "until=later", "until"},
		{[]string{events, sessions}, "cursor=nonsense", "cursor"},
		{[]string{events, sessions}, "cursor=%00", "cursor"},
		{[]string{events}, "cursor=cy4wLjE", "cursor"},                       // of the other list
		{[]string{sessions}, "cursor=ZS4x", "cursor"},                        // likewise
		{[]string{sessions}, "cursor=cy43ZmY4MDAwMDAwMDAwMDAxLjE", "cursor"}, // not a number
		{[]string{events}, "after=-1", "after"},
		{[]string{events}, "after=x", "after"},
		{[]string{events}, "after=1&cursor=ZS4x", "after"},
		{[]string{one}, "limit=0", "limit"},
		{[]string{one}, "limit=1001&thread=conv:c", "limit"},
		{[]string{one}, "before=0", "before"},
		{[]string{one}, "before=-3", "before"},
		{[]string{one}, "before=last", "before"},
		{[]string{one}, "before=9223372036854775808", "before"},
		{[]string{one}, "after=-1", "after"},
		{[]string{one}, "after=1e3", "after"},
		{[]string{one}, "after=1&before=9", "after"},
		{[]string{one}, "limit=5&include=summary", "include"},
		{[]string{one}, "thread=conv:c&include=summary", "include"},
		{[]string{events, sessions, one, "/api/categories"}, "scope=mine", "scope"},
		{[]string{sessions, one}, "include=everything", "include"},
		{[]string{events, sessions, one, "/api/categories", "/api/health"}, "min_seq=-1", "min_seq"},
		{[]string{events, sessions, one, "/api/categories", "/api/health"}, "min_seq=now", "min_seq"},
		{[]string{events, sessions, one}, "type=%zz", "query"},
		{[]string{events, sessions}, "a=1;b=2", "query"},
	} {
		for _, path := range c.paths {
			var r refusal
			response := b.direct(path, c.query)
			if err := json.Unmarshal(response.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if response.Code != http.StatusBadRequest || r.Field != c.field || r.Code != "invalid_parameter" || r.Hint == "" || r.Error == "" {
				t.Errorf("%s?%s: %d %s, want a refusal of %s", path, c.query, response.Code, response.Body, c.field)
			}
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/api/nope", 404, `{"error":"Not found","code":"not_found"}`},
		{"GET", "/api/events/", 404, `{"error":"Not found","code":"not_found"}`},
		{"GET", "/api/work-sessions/", 404, `{"error":"Not found","code":"not_found"}`},
		{"GET", "/favicon.ico", 404, `{"error":"Not found","code":"not_found"}`},
		{"POST", "/api/nope", 404, `{"error":"Not found","code":"not_found"}`},
		{"POST", "/api/events", 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"PATCH", "/api/work-sessions", 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"DELETE", "/api/work-sessions/ws_a", 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"PUT", "/api/health", 405, `{"error":"Method not allowed","code":"method_not_allowed"}`},
		{"OPTIONS", "/api/events", 204, ""},
		{"OPTIONS", "/any/path", 204, ""},
		{"HEAD", "/api/events", 200, ""},
	} {
		response, body := b.ask(t, c.method, c.path)
		if response.StatusCode != c.status || c.status >= 400 && string(body) != c.body || c.body == "" && len(body) > 0 {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, response.StatusCode, body, c.status, c.body)
		}
		if allowed := response.Header.Get("Allow"); (c.status == http.StatusMethodNotAllowed) != strings.Contains(allowed, "GET") ||
			strings.Contains(allowed, c.method) && c.status == http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d allows %q", c.method, c.path, c.status, allowed)
		}
		for header, want := range map[string]string{
			"Access-Control-Allow-Origin":  "", // no page asks
			"Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
			"Access-Control-Allow-Headers": "Content-Type, X-Task-Monitor-Token, Cookie",
		} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, header, got)
			}
		}
		if got := response.Header.Get("Content-Type"); c.status != 204 && got != "application/json" {
			t.Errorf("%s %s: Content-Type %q", c.method, c.path, got)
		}
	}
}

func TestEveryAnswerSaysHowFarItReaches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seq := b.appending(t, "task.started", `{"taskId":"task_1","workSessionId":"ws_1"}`)
	for _, path := range []string{"/api", "/api/openapi.yaml", "/api/health", "/api/events", "/api/events?limit=0", "/api/nope",
		"/api/work-sessions", "/api/work-sessions/ws_none",
		"/api/work-sessions/ws_1/category", "/api/work-sessions/search?q=x", "/api/events/search?q=x", "/api/categories", "/api/status", "/api/agents",
		"/api/agents/stranger/info", "/api/team-state", "/api/workspace-file", "/ws"} {
		response, _ := b.ask(t, http.MethodGet, path)
		if got := response.Header.Get("X-As-Of-Seq"); got != strconv.FormatInt(seq, 10) {
			t.Errorf("%s: X-As-Of-Seq is %q, want %d", path, got, seq)
		}
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/", "/api"} {
		d := get[struct {
			Name, Version, Docs string
			Endpoints           []string
		}](t, b, path, http.StatusOK)
		if d.Name != "Task Monitor API" || d.Version != "test" || d.Docs != "/api/openapi.yaml" || !slices.Contains(d.Endpoints, "GET /api/events") {
			t.Errorf("%s: %+v", path, d)
		}
	}
	if response, body := b.ask(t, http.MethodGet, "/api/openapi.yaml"); response.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), "openapi: 3") {
		t.Errorf("openapi.yaml: %d %.40s", response.StatusCode, body)
	}
}

func TestHealthCountsBadLines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t, event("a2a.send", "main", 0, ``), `{broken`, `[]`, event("a2a.send", "main", 1, ``))
	h := get[struct {
		Status           string
		Events, BadLines int64
	}](t, b, "/api/health", http.StatusOK)
	if h.Status != "ok" || h.Events != 4 || h.BadLines != 2 {
		t.Errorf("health is %+v", h)
	}
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	response, body := b.ask(t, http.MethodGet, "/api/events")
	if response.StatusCode < 500 || strings.Contains(string(body), "sql") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

func TestCategories(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	type row struct {
		Category, NameKo string
		Sessions, Events int64
	}
	got := get[struct{ Categories []row }](t, b, "/api/categories", http.StatusOK).Categories
	if len(got) != 10 {
		t.Fatalf("%d categories", len(got))
	}
	var with []row
	for _, c := range got {
		if c.Events > 0 {
			with = append(with, c)
		}
	}
	want := []row{{"infra_ops", "인프라/운영", 1, 2}, {"qa_validation", "QA/검증", 0, 1}, {"planning_decision", "기획/의사결정", 0, 1}, {"docs_knowledge", "문서/지식화", 1, 1}}
	if diff := cmp.Diff(want, with); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
