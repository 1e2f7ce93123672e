package monitor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
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
		"/api/work-sessions", "/api/work-sessions/ws_none", "/api/categories"} {
		response, _ := b.ask(t, http.MethodGet, path)
		if got := response.Header.Get("X-As-Of-Seq"); got != strconv.FormatInt(seq, 10) {
			t.Errorf("%s: X-As-Of-Seq is %q, want %d", path, got, seq)
		}
	}
}

// DB-19: the original lets every page on the web read what agents say.
func TestOnlyPagesOfThisMachineMayRead(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	for origin, shared := range map[string]bool{
		"http://localhost:3102": true, "http://127.0.0.1:3102": true, "https://hub.example": true, "http://[::1]:5173": true,
		"https://evil.example": false, "http://localhost.evil.example": false, "null": false, "": false, "http://10.0.0.1": false,
	} {
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/health", nil)
		request.Header.Set("Origin", origin)
		response := httptest.NewRecorder()
		b.monitor.Handler().ServeHTTP(response, request)
		want := ""
		if shared {
			want = origin
		}
		if got := response.Header().Get("Access-Control-Allow-Origin"); got != want || response.Code != http.StatusOK {
			t.Errorf("origin %q: %d, may read %q, want %q", origin, response.Code, got, want)
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

// A name that somebody else makes resolve to this machine must not open it to their pages.
func TestForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Hosts = []string{"hub.example"} })
	for host, status := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "localhost:3847": 200, "LOCALHOST.": 200, "hub.localhost": 200, "[::1]:3847": 200,
		"::1": 200, "hub.example": 200, "HUB.example:80": 200, "": 200,
		"evil.example": 421, "evil.example:3847": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1": 421, "0.0.0.0": 421,
	} {
		response := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/api/health", nil)
		request.Host = host
		b.monitor.Handler().ServeHTTP(response, request)
		if response.Code != status {
			t.Errorf("Host %q: %d, want %d: %s", host, response.Code, status, response.Body)
		}
	}
	// The address on which a request arrived is ours.
	request := httptest.NewRequest(http.MethodGet, "/api/health", nil)
	request.Host = "10.0.0.1:3847"
	arrived := context.WithValue(request.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 3847}))
	response := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(response, request.WithContext(arrived))
	if response.Code != http.StatusOK {
		t.Errorf("own address: %d", response.Code)
	}
}

func TestHostileIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{"ws_한글_세션", "../etc/passwd", "a/../b", "a//b", "%2e%2e", "50% off", "ws:ws:x", "?#&=", "a b+c", ".", "..", "a\u2028b", `"'<>`,
		"search", strings.Repeat("가", 3_000)}
	for i, id := range ids {
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		b.importing(t, event("a2a.send", "main", float64(i), fmt.Sprintf(`"toAgent":"ruda","message":"m%d","workSessionId":%s`, i, quoted)))
	}
	for _, id := range ids {
		for _, prefix := range []string{"", "ws:"} {
			if prefix+id == "search" {
				continue // that path is the search; the work session has its prefixed name
			}
			got := get[detail](t, b, "/api/work-sessions/"+url.PathEscape(prefix+id), http.StatusOK)
			if got.Session.WorkSessionID != id || got.Session.ID != "ws:"+id {
				t.Errorf("%.40q is answered as %.40q", prefix+id, got.Session.WorkSessionID)
			}
		}
	}
	for _, missing := range []string{"ws_missing", strings.Repeat("x", 10_000), "%2e%2e%2f", "ws:", "ws_a/category"} {
		got := get[refusal](t, b, "/api/work-sessions/"+url.PathEscape(missing), http.StatusNotFound)
		if got.Error != "Work session not found: "+missing {
			t.Errorf("%.40q: %.80q", missing, got.Error)
		}
	}
	// Slashes and dots that are not escaped are part of the id too.
	for _, raw := range []string{"../etc/passwd", "a/../b", "a//b"} {
		response := raws(t, b, "GET /api/work-sessions/"+raw+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", raw, response.StatusCode)
		}
	}
	if response := raws(t, b, "GET /api/work-sessions/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("bad escape: %d", response.StatusCode)
	}
}

// raws sends text as it is.
func raws(t *testing.T, b *testBundle, text string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response
}

func TestMinSeqWaitsForTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.MaxWait = time.Minute })
	seq := b.appending(t, "a2a.send", `{"toAgent":"ruda"}`)
	page := make(chan eventPage)
	go func() {
		var p eventPage
		_ = json.Unmarshal(b.direct("/api/events", fmt.Sprintf("min_seq=%d", seq+1)).Body.Bytes(), &p)
		page <- p
	}()
	b.appending(t, "a2a.response", `{"toAgent":"main"}`)
	if got := <-page; got.AsOfSeq < seq+1 || got.Count != 2 {
		t.Errorf("answer as of %d with %d events; %d was asked for", got.AsOfSeq, got.Count, seq+1)
	}
	response, _ := b.ask(t, http.MethodGet, "/api/work-sessions?min_seq=2")
	if got := response.Header.Get("X-As-Of-Seq"); got != "2" {
		t.Errorf("X-As-Of-Seq is %q", got)
	}
	response, _ = b.ask(t, http.MethodGet, "/api/work-sessions/ws_missing?min_seq=2")
	if got := response.Header.Get("X-As-Of-Seq"); got != "2" {
		t.Errorf("X-As-Of-Seq of what is missing is %q", got)
	}
}

func TestMinSeqThatDoesNotComeIsRefused(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	for _, path := range []string{"/api/events", "/api/work-sessions", "/api/work-sessions/ws_a", "/api/categories", "/api/health"} {
		response, body := b.ask(t, http.MethodGet, path+"?min_seq=1000")
		var r refusal
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || r.Code != "behind" || r.Field != "min_seq" || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}

func TestParkedProjectionIsNamed(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	park := func(tx eventstore.Tx) error {
		_, err := tx.Exec(`UPDATE projections SET state = 'parked', seq = 2, parked_seq = 3, parked_error = 'defect', parked_at = 1
 WHERE name = 'conversation'`)
		return err
	}
	if err := b.db.Exclusive(context.Background(), park, nil); err != nil {
		t.Fatal(err)
	}
	r := get[refusal](t, b, "/api/events?min_seq=3", http.StatusServiceUnavailable)
	if r.Code != "behind" || !strings.Contains(r.Error, "conversation is parked and stands at 2") {
		t.Errorf("refused with %+v", r)
	}
	h := get[struct {
		Status, Timestamp              string
		Seq, AsOfSeq, Events, BadLines int64
		Projections                    []struct{ Name, State string }
	}](t, b, "/api/health", http.StatusOK)
	if h.Status != "degraded" || h.Seq != 6 || h.AsOfSeq != 2 || h.Timestamp != "2026-02-20T12:00:00.000Z" || len(h.Projections) != 3 {
		t.Errorf("health is %+v", h)
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
