package monitor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// newTaskHub is a Task-Hub of our own, and a server of this package that asks it.
func newTaskHub(t *testing.T, answer http.HandlerFunc, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	hub := httptest.NewServer(answer)
	t.Cleanup(hub.Close)
	return setup(t, append([]func(*monitor.Options){func(o *monitor.Options) { o.TaskHub = hub.URL }}, change...)...)
}

func TestMilestonesArePassedOn(t *testing.T) {
	t.Parallel()
	hub := func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		switch r.URL.Path {
		case "/api/milestones/text":
			fmt.Fprint(w, "plain <text>")
			return
		case "/api/milestones/missing":
			status = http.StatusNotFound
		case "/api/milestones/none":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/api/milestones/moved":
			http.Redirect(w, r, "/api/milestones/here", http.StatusFound)
			return
		}
		w.Header().Set("Set-Cookie", "hub=1")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"asked":%q,"cookie":%q,"method":%q}`, r.URL.RequestURI(), r.Header.Get("Cookie"), r.Method)
	}
	b := newTaskHub(t, hub, func(o *monitor.Options) { o.Cookie = "session=ours" })
	for _, c := range []struct {
		path, cookie string
		status       int
		body         string
	}{
		{"/api/milestones", "", 200, `{"asked":"/api/milestones","cookie":"session=ours","method":"GET"}`},
		{"/api/milestones?status=open&x=%2F", "a=b", 200, `{"asked":"/api/milestones?status=open&x=%2F","cookie":"a=b","method":"GET"}`},
		{"/api/milestones/m1/tasks/t%203", "", 200, `{"asked":"/api/milestones/m1/tasks/t%203","cookie":"session=ours","method":"GET"}`},
		{"/api/milestones/%ED%95%9C?q=%3F", "", 200, `{"asked":"/api/milestones/%ED%95%9C?q=%3F","cookie":"session=ours","method":"GET"}`},
		{"/api/milestones/a%3Fb%23c", "", 200, `{"asked":"/api/milestones/a%3Fb%23c","cookie":"session=ours","method":"GET"}`},
		{"/api/milestones/text", "", 200, `{"raw":"plain \u003ctext\u003e"}`},
		{"/api/milestones/missing", "", 404, `{"asked":"/api/milestones/missing","cookie":"session=ours","method":"GET"}`},
		{"/api/milestones/none", "", 204, ""},
		{"/api/milestones/moved", "", 200, `{"asked":"/api/milestones/here","cookie":"session=ours","method":"GET"}`},
	} {
		response := b.from("192.0.2.7:1", http.MethodGet, c.path, "", "Cookie", c.cookie)
		if response.Code != c.status || response.Body.String() != c.body || response.Header().Get("Set-Cookie") != "" ||
			c.body != "" && response.Header().Get("Content-Type") != "application/json" || response.Header().Get("X-As-Of-Seq") != "0" {
			t.Errorf("%s: %d %v %s, want %d %s", c.path, response.Code, response.Header(), response.Body, c.status, c.body)
		}
	}
	if response := b.from("192.0.2.7:1", http.MethodPost, "/api/milestones", "{}"); response.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", response.Code)
	}
}

// A faulty Task-Hub, or another server in its place, is a bad gateway.
func TestMilestonesOfABadHub(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host received %s with cookie %q", r.URL, r.Header.Get("Cookie"))
	}))
	defer elsewhere.Close()
	hub := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/milestones/away":
			http.Redirect(w, r, elsewhere.URL+"/api/milestones", http.StatusFound)
		case "/api/milestones/round":
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		case "/api/milestones/long":
			for range 9 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case "/api/milestones/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{}`))
		}
	}
	b := newTaskHub(t, hub)
	want := `{"error":"Failed to proxy milestone request","code":"task_hub",`
	for _, path := range []string{"away", "round", "long", "cut"} {
		response := b.from("192.0.2.7:1", http.MethodGet, "/api/milestones/"+path, "", "Cookie", "a=b")
		if response.Code != http.StatusBadGateway || !strings.HasPrefix(response.Body.String(), want) {
			t.Errorf("%s: %d %.200s", path, response.Code, response.Body)
		}
	}
	for _, address := range []string{"http://127.0.0.1:1", "file:///etc/passwd", "gopher://127.0.0.1", "http://", "::"} {
		b.monitor.Configure(monitor.Settings{TaskHub: address})
		response := b.from("192.0.2.7:1", http.MethodGet, "/api/milestones?x=1", "")
		if response.Code != http.StatusBadGateway || !strings.HasPrefix(response.Body.String(), want) {
			t.Errorf("%s: %d %.200s", address, response.Code, response.Body)
		}
	}
}

// Only the milestones of Task-Hub can be reached through us, and no other server.
func TestMilestonePathsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	b := newTaskHub(t, func(w http.ResponseWriter, r *http.Request) {
		if u, err := url.PathUnescape(r.URL.EscapedPath()); err != nil || !strings.HasPrefix(u, "/api/milestones/ok") {
			t.Errorf("Task-Hub was asked for %s", r.URL)
		}
	})
	for _, path := range []string{"/", "/..", "/../admin", "/%2e%2e/admin", "/%2E./admin", "/.%2e", "/%252e%252e/admin", "/a%2f..%2f..%2fadmin", "/a%5c..%5cadmin", "/.",
		"//evil.example", "/http://evil.example/", "/%2f%2fevil.example", "/a//b", "/a/", "/a%00b", "/a%0d%0aHost:%20evil.example", "/%", "/%zz", "/...",
		"/a\\..\\b", "/m1%25"} {
		for _, prefix := range []string{"/api/milestones", "http://127.0.0.1/api/milestones", "//127.0.0.1/api/milestones"} {
			response := raws(t, b, "GET "+prefix+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %d", prefix+path, response.StatusCode)
			}
		}
	}
	for _, path := range []string{"/api/milestonesX", "/api/milestones@evil.example", "/api/milestones:80@evil.example/"} {
		if response := raws(t, b, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
	if response := raws(t, b, "GET /api/milestones/ok/a..b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); response.StatusCode != http.StatusOK {
		t.Errorf("ok: %d", response.StatusCode)
	}
}

// changingHub is a Task-Hub whose milestones change when a test says so.
type changingHub struct {
	version atomic.Int64 // of the milestones; negative: it fails
	asked   chan struct{}
}

func (h *changingHub) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if v := h.version.Load(); v < 0 {
		w.WriteHeader(http.StatusInternalServerError)
	} else {
		fmt.Fprintf(w, `[{"version":%d}]`, v)
	}
	select {
	case h.asked <- struct{}{}:
	default:
	}
}

// polled waits until it has been asked so often, from now on.
func (h *changingHub) polled(t *testing.T, times int) {
	t.Helper()
	for range times {
		select {
		case <-h.asked:
		case <-time.After(patience):
			t.Fatal("Task-Hub is not asked")
		}
	}
}

func TestMilestonesArePushedWhenTheyChange(t *testing.T) {
	t.Parallel()
	hub := &changingHub{asked: make(chan struct{})}
	var b *testBundle
	var log lockedBuffer
	var over atomic.Bool // the client goes while Task-Hub may be asked
	defer over.Store(true)
	answer := func(w http.ResponseWriter, r *http.Request) {
		if !over.Load() && b.monitor.PushStats().Clients == 0 {
			t.Error("Task-Hub is asked without a client")
		}
		hub.ServeHTTP(w, r)
	}
	b = newTaskHub(t, answer, func(o *monitor.Options) {
		o.MilestoneInterval, o.Logger = time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
	})
	b.running(t)
	client := b.listen(t, "/ws")
	for version := int64(1); version <= 2; version++ {
		hub.polled(t, 3) // what it said first is the baseline
		hub.version.Store(version)
		f, raw := client.milestones(t)
		if want := fmt.Sprintf(`[{"version":%d}]`, version); f.Type != "task_update" || f.AgentID != "" || f.Data.Event != "milestone_update" || raw != want {
			t.Errorf("pushed %+v %s, want %s", f, raw, want)
		}
	}
	hub.version.Store(-1)
	hub.polled(t, 5)
	hub.version.Store(2) // as before
	hub.polled(t, 3)
	hub.version.Store(3)
	if _, raw := client.milestones(t); raw != `[{"version":3}]` {
		t.Errorf("pushed %s", raw)
	}
	if gone, back := strings.Count(log.String(), "cannot poll Task-Hub"), strings.Count(log.String(), "Task-Hub answers again"); gone != 1 || back != 1 {
		t.Errorf("logged %d times that it is gone, %d times that it is back", gone, back)
	}
}

// milestones reads one frame and its milestones.
func (l *listener) milestones(t *testing.T) (f *pushed, raw string) {
	t.Helper()
	_, text, err := l.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Data struct{ Milestones json.RawMessage }
	}
	f = &pushed{}
	if err := errors.Join(json.Unmarshal(text, f), json.Unmarshal(text, &m)); err != nil {
		t.Fatal(err)
	}
	return f, string(m.Data.Milestones)
}
