package monitor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

const (
	writeToken   = "correct-horse-battery-staple"
	categoryPath = "/api/work-sessions/ws_a/category"
	categoryBody = `{"collabCategory":"infra_ops"}`
)

// from sends a request as a peer would. header has name and value in turn; Host is the host that is asked for.
func (b *testBundle) from(peer, method, path, body string, header ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://127.0.0.1:3847"+path, strings.NewReader(body))
	request.RemoteAddr = peer
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		} else {
			request.Header.Add(header[i], header[i+1])
		}
	}
	response := httptest.NewRecorder()
	b.monitor.Handler().ServeHTTP(response, request)
	return response
}

// DB-19: the original lets any page that is open on this machine write, and compares the token byte by byte.
func TestWhoMayWrite(t *testing.T) {
	t.Parallel()
	const near, far = "127.0.0.1:40000", "192.0.2.7:40000"
	open := setup(t)
	guarded := setup(t, func(o *monitor.Options) { o.Token = writeToken })
	sealed := setup(t, func(o *monitor.Options) { o.Sealed = true })
	open.has(t, "ws_a")
	guarded.has(t, "ws_a")
	for _, c := range []struct {
		server *testBundle
		peer   string
		header []string
		status int
		code   string
	}{
		// Without a token: this machine, and pages of this very server.
		{open, near, nil, 200, ""},
		{open, "127.9.9.9:1", nil, 200, ""},
		{open, "[::1]:1", nil, 200, ""},
		{open, "[::ffff:127.0.0.1]:1", nil, 200, ""},
		{open, far, nil, 401, "unauthorized"},
		{open, "[2001:db8::1]:1", nil, 401, "unauthorized"},
		{open, "[::ffff:192.0.2.7]:1", nil, 401, "unauthorized"},
		{open, "", nil, 401, "unauthorized"},
		{open, "@", nil, 401, "unauthorized"},
		{open, near, []string{"X-Task-Monitor-Token", "anything"}, 200, ""},
		{open, near, []string{"Origin", "http://127.0.0.1:3847", "Content-Type", "application/json"}, 200, ""},
		{open, near, []string{"Origin", "http://localhost:3847", "Host", "LOCALHOST:3847", "Content-Type", "application/json; charset=utf-8"}, 200, ""},
		{open, near, []string{"Origin", "http://localhost", "Host", "localhost:80", "Content-Type", "application/json"}, 200, ""},
		{open, near, []string{"Origin", "http://127.0.0.1:3847", "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}, 200, ""},
		{open, near, []string{"Origin", "http://localhost:3847"}, 403, "cross_origin"},  // asked as 127.0.0.1
		{open, near, []string{"Origin", "http://127.0.0.1:3102"}, 403, "cross_origin"},  // may read, not write
		{open, near, []string{"Origin", "https://127.0.0.1:3847"}, 403, "cross_origin"}, // another scheme
		{open, near, []string{"Origin", "https://evil.example"}, 403, "cross_origin"},
		{open, near, []string{"Origin", "http://127.0.0.1:3847.evil.example"}, 403, "cross_origin"},
		{open, near, []string{"Origin", "http://evil.example#http://127.0.0.1:3847"}, 403, "cross_origin"},
		{open, near, []string{"Origin", "null"}, 403, "cross_origin"},
		{open, near, []string{"Origin", ""}, 403, "cross_origin"},
		{open, near, []string{"Origin", "http://127.0.0.1:3847", "Origin", "https://evil.example"}, 403, "cross_origin"},
		{open, near, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{open, near, []string{"Sec-Fetch-Site", "same-site"}, 403, "cross_origin"},
		{open, near, []string{"X-Forwarded-For", "192.0.2.7"}, 401, "unauthorized"},
		{open, near, []string{"X-Forwarded-For", "127.0.0.1, 192.0.2.7"}, 401, "unauthorized"},
		{open, near, []string{"X-Forwarded-For", ""}, 401, "unauthorized"},
		{open, near, []string{"X-Real-IP", "192.0.2.7"}, 401, "unauthorized"},
		{open, near, []string{"X-Real-IP", "127.0.0.1"}, 200, ""},
		{open, near, []string{"Forwarded", "for=192.0.2.7"}, 401, "unauthorized"},
		{open, near, []string{"Origin", "http://127.0.0.1.:3847"}, 403, "cross_origin"}, // a dot makes it another one
		{open, near, []string{"Origin", "http://[::1]:3847", "Host", "[::1]:3847", "Content-Type", "application/json"}, 200, ""},
		{open, near, []string{"Origin", "http://[::1]:3847", "Host", "[::1]:3848"}, 403, "cross_origin"},
		{open, near, []string{"X-Forwarded-For", "::ffff:127.0.0.1, 127.0.0.1:5"}, 200, ""},

		// With one: every caller that sends it, from anywhere, and no other.
		{guarded, near, nil, 401, "unauthorized"},
		{guarded, near, []string{"X-Task-Monitor-Token", ""}, 401, "unauthorized"},
		{guarded, near, []string{"X-Task-Monitor-Token", "correct-horse-battery-stapl"}, 401, "unauthorized"},
		{guarded, near, []string{"X-Task-Monitor-Token", "Correct-horse-battery-staple"}, 401, "unauthorized"},
		{guarded, near, []string{"X-Task-Monitor-Token", writeToken + "x"}, 401, "unauthorized"},
		{guarded, near, []string{"Authorization", "Bearer " + writeToken}, 401, "unauthorized"},
		{guarded, far, []string{"X-Task-Monitor-Token", writeToken}, 200, ""},
		{guarded, far, []string{"x-task-monitor-token", "  " + writeToken + "\t"}, 200, ""},
		{guarded, far, []string{"X-Task-Monitor-Token", writeToken, "Origin", "https://hub.example", "Sec-Fetch-Site", "cross-site",
			"Content-Type", "application/json"}, 200, ""},

		// A page says what it sends; what it may send without asking first is refused.
		{guarded, far, []string{"X-Task-Monitor-Token", writeToken, "Origin", "https://hub.example", "Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{guarded, far, []string{"X-Task-Monitor-Token", writeToken, "Origin", "https://hub.example"}, 415, "unsupported_media_type"},
		{open, near, []string{"Origin", "http://127.0.0.1:3847", "Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{open, near, []string{"Sec-Fetch-Site", "none", "Content-Type", "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"},
		{open, near, []string{"Content-Type", "application/x-www-form-urlencoded"}, 200, ""}, // curl -d

		// An unreadable configuration may define a token, so writes are refused.
		{sealed, near, nil, 401, "unauthorized"},
	} {
		response := c.server.from(c.peer, http.MethodPatch, categoryPath, categoryBody, c.header...)
		var r refusal
		if err := json.Unmarshal(response.Body.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, response.Body)
		}
		if response.Code != c.status || r.Code != c.code || c.status >= 400 && r.Hint == "" {
			t.Errorf("from %q with %q: %d %s, want %d %s", c.peer, c.header, response.Code, response.Body, c.status, c.code)
		}
		if r.Code == "unauthorized" && r.Error != "Unauthorized" {
			t.Errorf("from %q with %q: %q", c.peer, c.header, r.Error)
		}
	}
	// Reading needs no token: Task-Hub in a container sends none.
	for _, server := range []*testBundle{open, guarded, sealed} {
		if response := server.from(far, http.MethodGet, "/api/events", ""); response.Code != http.StatusOK {
			t.Errorf("reading: %d %s", response.Code, response.Body)
		}
	}
}

// The header is the one place for the token, and the method the one place for what is to be done.
func TestNothingStandsInForTokenOrMethod(t *testing.T) {
	t.Parallel()
	const near = "127.0.0.1:40000"
	open := setup(t)
	guarded := setup(t, func(o *monitor.Options) { o.Token = writeToken })
	query := "?token=" + writeToken + "&X-Task-Monitor-Token=" + writeToken + "&write_token=" + writeToken
	if response := guarded.from(near, http.MethodPatch, categoryPath+query, categoryBody, "Cookie", "X-Task-Monitor-Token="+writeToken); response.Code != 401 {
		t.Errorf("a token in the query or a cookie: %d %s", response.Code, response.Body)
	}
	for method, status := range map[string]int{"GET": 200, "HEAD": 200, "OPTIONS": 204, "POST": 405} {
		response := open.from(near, method, categoryPath+"?_method=PATCH", categoryBody, "X-HTTP-Method-Override", "PATCH", "X-HTTP-Method", "PATCH",
			"X-Method-Override", "PATCH")
		if response.Code != status {
			t.Errorf("%s in place of PATCH: %d %s", method, response.Code, response.Body)
		}
	}
	for _, b := range []*testBundle{open, guarded} {
		if head, err := b.db.Head(t.Context()); err != nil || head.Seq != 0 {
			t.Errorf("something was written: %+v, %v", head, err)
		}
	}
}

// A page that may read is told with what it may write, before it does.
func TestPreflight(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Token, o.Origins = writeToken, []string{"https://hub.example"} })
	for origin, want := range map[string]string{"https://hub.example": "https://hub.example", "http://localhost:3102": "http://localhost:3102",
		"http://hub.example": "", "https://hub.example:444": "", "https://hub.example.evil.example": "", "null": ""} {
		for _, method := range []string{http.MethodPatch, http.MethodDelete} {
			h := b.from("192.0.2.7:1", http.MethodOptions, categoryPath, "", "Origin", origin, "Access-Control-Request-Method", method,
				"Access-Control-Request-Headers", "content-type,x-task-monitor-token").Header()
			if h.Get("Access-Control-Allow-Origin") != want || !strings.Contains(h.Get("Access-Control-Allow-Methods"), method) ||
				!strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-Task-Monitor-Token") || h.Get("Vary") != "Origin" ||
				h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s of %s: %v", method, origin, h)
			}
		}
	}
}

func TestSettingsChangeWhileServing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.has(t, "ws_a")
	const near = "127.0.0.1:40000"
	write := func(header ...string) int {
		return b.from(near, http.MethodPatch, categoryPath, categoryBody, header...).Code
	}
	if got := write(); got != http.StatusOK {
		t.Fatalf("without a token: %d", got)
	}
	origins := []string{"https://hub.example"}
	b.monitor.Configure(monitor.Settings{Token: writeToken, Hosts: []string{"api.example"}, Origins: origins})
	origins[0] = "https://evil.example" // the server has its own copy
	if got := write(); got != http.StatusUnauthorized {
		t.Errorf("without the new token: %d", got)
	}
	if got := write("X-Task-Monitor-Token", writeToken, "Host", "api.example"); got != http.StatusOK {
		t.Errorf("with the new token: %d", got)
	}
	for origin, want := range map[string]string{"https://hub.example": "https://hub.example", "https://evil.example": "",
		"http://hub.example": "", "https://hub.example:444": ""} {
		response := b.from(near, http.MethodOptions, categoryPath, "", "Origin", origin)
		if got := response.Header().Get("Access-Control-Allow-Origin"); got != want || response.Code != http.StatusNoContent {
			t.Errorf("%s: may write %q, want %q", origin, got, want)
		}
	}
}

// lockedBuffer collects what several goroutines log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestTokensAreNeverLogged(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	settings := monitor.Settings{Token: writeToken, Cookie: "session=" + writeToken, TaskHub: "http://127.0.0.1:1"}
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b := setup(t, func(o *monitor.Options) { o.Settings, o.Logger = settings, logger })
	said := ""
	for _, token := range []string{"", writeToken, writeToken + "-mistyped"} {
		said += b.from("192.0.2.7:1", http.MethodPatch, categoryPath, categoryBody, "X-Task-Monitor-Token", token).Body.String()
		said += b.from("192.0.2.7:1", http.MethodPatch, categoryPath, `{`, "X-Task-Monitor-Token", token).Body.String()
		said += b.from("192.0.2.7:1", http.MethodGet, "/api/milestones", "", "Cookie", "session="+token).Body.String()
		said += b.from("192.0.2.7:1", http.MethodGet, "/api/health", "", "X-Task-Monitor-Token", token).Body.String()
	}
	logger.Info("settings", "all", settings, "pointer", &settings, "token", settings.Token)
	said += fmt.Sprintf("%v %+v %#v %s", settings, settings, settings, config.Secret(writeToken))
	if !strings.Contains(log.String(), "write refused") || !strings.Contains(log.String(), "cannot proxy milestone request") {
		t.Errorf("nothing was logged, so that nothing is shown: %s", log.String())
	}
	if strings.Contains(log.String()+said, "horse-battery") {
		t.Errorf("the token is shown:\n%s\n%s", log.String(), said)
	}
}
