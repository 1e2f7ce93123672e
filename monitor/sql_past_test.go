package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// withPastSQL serves a log of three events that people with the token may ask, also as of an event.
func withPastSQL(t *testing.T, change ...func(*monitor.Options)) *pastBundle {
	t.Helper()
	var b *pastBundle
	b = setupPast(t, append([]func(*monitor.Options){func(o *monitor.Options) {
		o.SQL, o.AdminToken = asked{path: func() string { return b.db.Path() }}, adminToken
	}}, change...)...)
	b.moments.dress = func(m *monitor.Moment) {
		m.SQL = asked{path: func() string { return b.db.Path() }, state: m.Store.(*sqlite.Scratch)}
	}
	for range 3 {
		b.appending(t, "run.started", `{"runId":"r"}`)
	}
	return b
}

// askThen asks until the tables as of the event are there.
func (b *pastBundle) askThen(t *testing.T, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	for range 3 {
		if response := b.from(nearPeer, http.MethodPost, path, body, header...); response.Code != http.StatusAccepted {
			return response
		}
	}
	t.Fatal("still being built")
	return nil
}

func TestSQLAboutThePast(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := withPastSQL(t, func(o *monitor.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	contract := newContract(t, b.testBundle)
	bearer := []string{"Authorization", "Bearer " + adminToken}
	building := b.from(nearPeer, http.MethodPost, "/api/sql?as_of=2", sqlBody(t, "SELECT 1"), bearer...)
	contract.hold(t, http.MethodPost, "/api/sql?as_of=2", http.StatusAccepted, building.Result(), building.Body.Bytes())
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/sql?as_of=2", `{"sql":"SELECT max(seq), count(*) FROM events"}`, 200, `"rows":[[2,2]]`},
		{"/api/sql?as_of=2", `{"sql":"SELECT count(*) FROM v_events WHERE seq > ?","params":[1]}`, 200, `"rows":[[1]]`},
		{"/api/sql?as_of=2", `{"sql":"SELECT seq FROM events WHERE seq = :seq","params":{"seq":3}}`, 200, `"rows":[]`},
		{"/api/sql?as_of=0", `{"sql":"SELECT count(*) FROM events"}`, 200, `"rows":[[0]]`},
		{"/api/sql?as_of=3", `{"sql":"SELECT count(*) FROM events"}`, 200, `"rows":[[3]]`},
		{"/api/sql", `{"sql":"SELECT count(*) FROM events"}`, 200, `"rows":[[3]]`},
		{"/api/sql?as_of=2", `{"sql":"DELETE FROM events"}`, 403, `"code":"sql_refused"`},
		{"/api/sql?as_of=2", `{"sql":"ATTACH ? AS x","params":["/etc/passwd"]}`, 403, `"code":"sql_refused"`},
		{"/api/sql?as_of=2", `{"sql":"SELECT * FROM openclawd_whole_log.events"}`, 403, `"code":"sql_refused"`},
		{"/api/sql?as_of=2", `{"sql":"SELECT zeroblob(2000000000)"}`, 422, `"code":"sql_too_large"`},
		{"/api/sql?as_of=2", `{}`, 400, `"code":"missing_field"`},
		{"/api/sql?as_of=4", `{"sql":"SELECT 1"}`, 404, `"code":"no_such_point"`},
		{"/api/sql?as_of=x", `{"sql":"SELECT 1"}`, 400, `"code":"invalid_parameter"`},
	} {
		response := b.askThen(t, c.path, c.body, bearer...)
		contract.hold(t, http.MethodPost, c.path, c.status, response.Result(), response.Body.Bytes())
		if !strings.Contains(response.Body.String(), c.want) {
			t.Errorf("%s %s: %s, want %s", c.path, c.body, response.Body, c.want)
		}
		if strings.HasPrefix(c.path, "/api/sql?as_of=2") && c.status == 200 && response.Header().Get("X-As-Of-Seq") != "2" {
			t.Errorf("%s %s: as of %s", c.path, c.body, response.Header().Get("X-As-Of-Seq"))
		}
	}
	if text := log.String(); !strings.Contains(text, "as_of=2") || strings.Contains(text, "/etc/passwd") {
		t.Errorf("the log says\n%s", text)
	}
	if head, err := b.db.Head(t.Context()); err != nil || head.Seq != 3 {
		t.Errorf("the log ends at %+v, %v", head, err)
	}
}

// A client that may not use SQL cannot have tables built for it either.
func TestWhoMayAskSQLAboutThePast(t *testing.T) {
	t.Parallel()
	b := withPastSQL(t)
	body := sqlBody(t, "SELECT 1")
	for what, c := range map[string]struct {
		header []string
		status int
		code   string
	}{
		"no token":      {nil, 401, "unauthorized"},
		"a wrong one":   {[]string{"Authorization", "Bearer x"}, 401, "unauthorized"},
		"a page":        {[]string{"Authorization", "Bearer " + adminToken, "Origin", "https://evil.example"}, 403, "cross_origin"},
		"a form":        {[]string{"Authorization", "Bearer " + adminToken, "Origin", "http://127.0.0.1:3847", "Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		"another write": {[]string{"X-Task-Monitor-Token", adminToken}, 401, "unauthorized"},
	} {
		response := b.from(nearPeer, http.MethodPost, "/api/sql?as_of=2", body, c.header...)
		var r refusal
		_ = json.Unmarshal(response.Body.Bytes(), &r)
		if response.Code != c.status || r.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", what, response.Code, response.Body, c.status, c.code)
		}
	}
	if asked := b.moments.asked.Load(); asked != 0 {
		t.Errorf("tables were asked for %d times", asked)
	}
	// A session of the page may with the role admin, and with no other.
	for grant, status := range map[monitor.Grant]int{{}: 403, {Write: true}: 403, {Write: true, Admin: true}: 200} {
		ask := func() *httptest.ResponseRecorder {
			request := httptest.NewRequestWithContext(monitor.WithGrant(context.Background(), grant), http.MethodPost, "/api/sql?as_of=2", strings.NewReader(body))
			request.Host, request.RemoteAddr = "127.0.0.1", nearPeer
			request.Header.Set("Origin", "https://hub.example") // a proxy ends TLS, and the page's own walls have let it pass
			request.Header.Set("Content-Type", "application/json")
			response := httptest.NewRecorder()
			b.monitor.Handler().ServeHTTP(response, request)
			return response
		}
		response := ask()
		for range 3 {
			if response.Code == http.StatusAccepted {
				response = ask()
			}
		}
		if response.Code != status {
			t.Errorf("a session with %+v: %d %s, want %d", grant, response.Code, response.Body, status)
		}
	}
}

// Where there is no token, SQL about the past is off like the other.
func TestSQLAboutThePastIsOff(t *testing.T) {
	t.Parallel()
	b := setupPast(t)
	response := b.from(nearPeer, http.MethodPost, "/api/sql?as_of=0", sqlBody(t, "SELECT 1"))
	if response.Code != http.StatusNotFound || !strings.Contains(response.Body.String(), "sql_off") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}
