package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/ui"
)

const (
	uiWriteToken   = "a-write-token-for-the-page"
	uiGatewayToken = "a-gateway-token-for-the-page"
	uiViewerToken  = "a-viewer-token-for-the-page"
)

// guarded is a configuration and an environment with a secret of every kind, so that nothing may be read without one.
var guardedFiles = map[string]string{settings.FileName: `{gateway: {auth: {token: '` + uiGatewayToken + `'}},
	taskMonitor: {writeToken: '` + uiWriteToken + `'}, ui: {viewers: [{name: '민수', token: '` + uiViewerToken + `'}]}}`}

func guarded(o *Options) {
	o.Gateway = "127.0.0.1:0"
	o.Getenv = func(name string) string {
		if name == monitor.AdminTokenVariable {
			return sqlToken
		}
		return ""
	}
}

// movedClock is a clock that a test moves.
type movedClock struct{ offset atomic.Int64 }

func (c *movedClock) Now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *movedClock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// surfer is a browser: it keeps cookies as browsers do, and sends with every request what they send.
type surfer struct {
	base   string // http://host:port
	client *http.Client
}

func newSurfer(t *testing.T, base string) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &surfer{base, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// ask sends a request with headers, given as names and values in turn, and returns the answer with its body read.
func (s *surfer) ask(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// pageWrite are the headers of a write by the page.
var pageWrite = []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json", ui.HeaderUI, "1"}

// post sends a write of the page.
func (s *surfer) post(t *testing.T, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	return s.ask(t, http.MethodPost, path, body, append(slices.Clone(pageWrite), headers...)...)
}

// session is an answer about a session, or a refusal.
type sessionAnswer struct {
	Role          string
	By            string
	LoginRequired bool
	Mode, LogID   string
	Features      map[string]bool
	ExpiresAtMS   *int64 `json:"expiresAtMs"`

	Code, Hint, Challenge string
}

func decodeSession(t *testing.T, text string) (a sessionAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return a
}

// session asks for the session.
func (s *surfer) session(t *testing.T) sessionAnswer {
	t.Helper()
	_, text := s.ask(t, http.MethodGet, "/ui/session", "")
	return decodeSession(t, text)
}

// login logs in and returns the answer.
func (s *surfer) login(t *testing.T, body string, headers ...string) (*http.Response, sessionAnswer) {
	t.Helper()
	response, text := s.post(t, "/ui/session", body, headers...)
	return response, decodeSession(t, text)
}

// reads returns the status of a read of the API.
func (s *surfer) reads(t *testing.T) int {
	t.Helper()
	response, _ := s.ask(t, http.MethodGet, "/ui/api/work-sessions", "")
	return response.StatusCode
}

func token(secret string) string { return fmt.Sprintf(`{"token":%q}`, secret) }

// asSurfer logs a new browser in.
func asSurfer(t *testing.T, base, secret string) *surfer {
	t.Helper()
	s := newSurfer(t, base)
	if response, a := s.login(t, token(secret)); response.StatusCode != http.StatusOK {
		t.Fatalf("login: %s %+v", response.Status, a)
	}
	return s
}

// uiHeaders are the headers that every answer has.
var uiHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
		"trusted-types svelte-trusted-html dompurify",
	"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}

// Answers of every kind have the headers that keep other pages and injected scripts out, and none that lets them in.
func TestUIHeadersAreOnEveryAnswer(t *testing.T) {
	t.Parallel()
	open := startReloading(t, nil)
	closed := startReloading(t, guardedFiles, guarded)
	_, index := newSurfer(t, open.url).ask(t, http.MethodGet, "/ui/", "")
	script := regexp.MustCompile(`a/[0-9a-f]{16}/[^"]+\.js`).FindString(index)
	if script == "" {
		t.Fatalf("no script in %s", index)
	}
	for _, c := range []struct {
		base, method, path string
		headers            []string
		status             int
	}{
		{open.url, "GET", "/ui", nil, 302},
		{open.url, "GET", "/ui/", nil, 200},
		{open.url, "HEAD", "/ui/", nil, 200},
		{open.url, "GET", "/ui/c/ws_1%2F2/thread?as_of=3", nil, 200},
		{open.url, "POST", "/ui/c/ws_1", nil, 405},
		{open.url, "GET", "/ui/" + script, nil, 200},
		{open.url, "GET", "/ui/a/0123456789abcdef/app.js", nil, 404},
		{open.url, "GET", "/ui/a/../../api/health", nil, 404},
		{open.url, "GET", "/ui/session", nil, 200},
		{open.url, "PUT", "/ui/session", nil, 405},
		{open.url, "POST", "/ui/session", nil, 403},
		{open.url, "POST", "/ui/session", pageWrite, 400},
		{open.url, "POST", "/ui/code", []string{"Origin", "http://127.0.0.1"}, 403},
		{open.url, "GET", "/ui/healthz", nil, 200},
		{open.url, "HEAD", "/ui/healthz", nil, 200},
		{open.url, "POST", "/ui/healthz", pageWrite, 405},
		{open.url, "GET", "/ui/healthz", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{open.url, "GET", "/%75i", nil, 404},
		{open.url, "GET", "/%75i/", nil, 404},
		{open.url, "GET", "/%75i/x", nil, 404},
		{open.url, "GET", "/u%69/api/health", nil, 404},
		{open.url, "GET", "/ui/readyz", nil, 200},
		{open.url, "GET", "/ui/api/health", []string{"Origin", open.url}, 200},
		{open.url, "GET", "/ui/api/nothing", nil, 404},
		{open.url, "OPTIONS", "/ui/api/health", []string{"Origin", "http://localhost:3102"}, 405},
		{open.url, "GET", "/ui/api/health", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{open.url, "GET", "/ui/ws", nil, 403},
		{open.url, "GET", "/ui/ws", []string{"Origin", open.url}, 404},
		{open.url, "GET", "/ui/api/health", []string{"Host", "evil.example"}, 421},
		{open.url, "GET", "/ui/", []string{"Host", "evil.example"}, 421},
		{open.url, "GET", "/ui/session", []string{"Host", "evil.example"}, 421},
		{open.url, "GET", "/ui/ws", []string{"Host", "evil.example", "Origin", "http://evil.example"}, 421},
		{closed.url, "GET", "/ui/", nil, 200},
		{closed.url, "GET", "/ui/healthz", nil, 200},
		{closed.url, "GET", "/ui/readyz", nil, 401},
		{closed.url, "GET", "/ui/api/status", nil, 401},
		{closed.url, "POST", "/ui/api/work/x/resend", pageWrite, 401},
		{closed.url, "GET", "/ui/ws", []string{"Origin", closed.url}, 401},
	} {
		what := c.method + " " + c.path + " " + strings.Join(c.headers, " ")
		response, text := newSurfer(t, c.base).ask(t, c.method, c.path, "", c.headers...)
		if response.StatusCode != c.status {
			t.Errorf("%s: %s, want %d: %.200s", what, response.Status, c.status, text)
		}
		for name, want := range uiHeaders {
			if got := response.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(response.Header.Get(ui.HeaderUI)) || response.Header.Get("Access-Control-Allow-Origin") != "" ||
			response.Header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %v", what, response.Header)
		}
		if c.status >= 400 && c.method != "HEAD" {
			var r struct{ Error, Code string }
			if err := json.Unmarshal([]byte(text), &r); err != nil || r.Error == "" || r.Code == "" {
				t.Errorf("%s: refused with %s", what, text)
			}
		}
	}
}

// The address of the server leads people to the page, and programs to the API.
func TestUIIsWhereBrowsersAreLed(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil)
	s := newSurfer(t, r.url)
	response, _ := s.ask(t, http.MethodGet, "/", "", "Sec-Fetch-Dest", "document")
	if response.StatusCode != http.StatusFound || response.Header.Get("Location") != "ui/" || response.Header.Get("Vary") != "Sec-Fetch-Dest" {
		t.Errorf("%s %v", response.Status, response.Header)
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Dest", "empty"}, {"Accept", "text/html"}} {
		if response, text := s.ask(t, http.MethodGet, "/", "", headers...); !strings.HasPrefix(text, `{"name":"Task Monitor API"`) {
			t.Errorf("%v: %s %s", headers, response.Status, text)
		}
	}
	if response, _ = s.ask(t, http.MethodGet, "/", "", "Sec-Fetch-Dest", "document", "Host", "evil.example"); response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign host: %s", response.Status)
	}
	without := startReloading(t, nil, func(o *Options) { o.NoUI = true })
	s = newSurfer(t, without.url)
	if response, _ := s.ask(t, http.MethodGet, "/ui/", ""); response.StatusCode != http.StatusNotFound || response.Header.Get(ui.HeaderUI) != "" {
		t.Errorf("--ui off: %s", response.Status)
	}
	if _, text := s.ask(t, http.MethodGet, "/", "", "Sec-Fetch-Dest", "document"); !strings.HasPrefix(text, `{"name":"Task Monitor API"`) {
		t.Errorf("--ui off: %s", text)
	}
	if without.HubLink(true) != "" || r.HubLink(true) != r.url+"/ui/" {
		t.Errorf("links %q, %q", without.HubLink(true), r.HubLink(true))
	}
}

// The page works below a path that a proxy takes away, at every depth: its files are found, and its cookie reaches what is below the page
// and nothing else.
func TestUIBelowAPath(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	target, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	// As the nginx block of docs/ui.md does. Rewrite drops the client's own forwarding headers.
	proxy := httptest.NewServer(http.StripPrefix("/team/a", &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = p.In.Host
		p.SetXForwarded()
	}}))
	defer proxy.Close()
	s := newSurfer(t, proxy.URL)
	base := regexp.MustCompile(`<base href="([^"]*)">`)
	for path, want := range map[string]string{"/ui/": "./", "/ui/c": "./", "/ui/c/": "../", "/ui/c/ws_1": "../", "/ui/c/ws_1/x": "../../", "/ui/c/ws%2F1/x": "../../",
		"/ui/tasks/a?b=/c/d": "../", "/ui//": "../"} {
		_, text := s.ask(t, http.MethodGet, "/team/a"+path, "")
		found := base.FindAllStringSubmatch(text, -1)
		if len(found) != 1 || found[0][1] != want {
			t.Errorf("%s: base %q, want %q", path, found, want)
			continue
		}
		at, err := url.Parse(proxy.URL + "/team/a" + path)
		if err != nil {
			t.Fatal(err)
		}
		root := at.ResolveReference(&url.URL{Path: want})
		if root.Path != "/team/a/ui/" {
			t.Errorf("%s: the root is %s", path, root)
		}
		script := regexp.MustCompile(`src="([^"]+\.js)"`).FindStringSubmatch(text)
		if response, _ := s.ask(t, http.MethodGet, root.ResolveReference(&url.URL{Path: script[1]}).Path, ""); response.StatusCode != http.StatusOK {
			t.Errorf("%s: its script: %s", path, response.Status)
		}
	}
	if response, _ := s.ask(t, http.MethodGet, "/team/a/ui", ""); response.Header.Get("Location") != "ui/" {
		t.Errorf("/ui leads to %q", response.Header.Get("Location"))
	}
	if response, text := s.post(t, "/team/a/ui/session", token(uiViewerToken)); response.StatusCode != http.StatusOK {
		t.Fatalf("login: %s %s", response.Status, text)
	}
	if response, text := s.ask(t, http.MethodGet, "/team/a/ui/api/work-sessions", ""); response.StatusCode != http.StatusOK {
		t.Errorf("API: %s %s", response.Status, text)
	}
	for path, sent := range map[string]bool{"/team/a/ui/api/x": true, "/team/a/ui/ws": true, "/team/a/api/x": false, "/team/b/ui/api/x": false, "/": false} {
		at, err := url.Parse(proxy.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.client.Jar.Cookies(at)) > 0; got != sent {
			t.Errorf("%s: the cookie is sent: %v", path, got)
		}
	}
	dialer := websocket.Dialer{Jar: s.client.Jar}
	conn, answer, err := dialer.Dial(strings.Replace(proxy.URL, "http", "ws", 1)+"/team/a/ui/ws", http.Header{"Origin": {proxy.URL}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	conn.Close()
}

// Browsers keep files for good, as they do not change, and ask again for the page; texts are compressed.
func TestUIFilesAreCached(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil)
	s := newSurfer(t, r.url)
	response, index := s.ask(t, http.MethodGet, "/ui/x/y", "", "Accept-Encoding", "gzip")
	tag := response.Header.Get("ETag")
	if response.Header.Get("Cache-Control") != "no-cache" || tag == "" || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("index: %v", response.Header)
	}
	if response, text := s.ask(t, http.MethodGet, "/ui/x/y", "", "If-None-Match", `"other", W/`+tag); response.StatusCode != http.StatusNotModified || text != "" {
		t.Errorf("index again: %s", response.Status)
	}
	script := "/ui/" + regexp.MustCompile(`a/[0-9a-f]{16}/[^"]+\.js`).FindString(index)
	response, plain := s.ask(t, http.MethodGet, script, "")
	if h := response.Header; h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("Content-Type") != "text/javascript; charset=utf-8" ||
		h.Get("Content-Encoding") != "" || len(plain) < 1024 {
		t.Errorf("%s: %v, %d bytes", script, h, len(plain))
	}
	zipped, content := s.ask(t, http.MethodGet, script, "", "Accept-Encoding", "br;q=1, gzip;q=0.5")
	if zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("ETag") == response.Header.Get("ETag") || zipped.Header.Get("Vary") != "Accept-Encoding" ||
		unzip(t, content) != plain {
		t.Errorf("%s compressed: %v", script, zipped.Header)
	}
	if none, _ := s.ask(t, http.MethodGet, script, "", "Accept-Encoding", "gzip;q=0"); none.Header.Get("Content-Encoding") != "" {
		t.Errorf("%s: compressed for a client that refuses it", script)
	}
}

func unzip(t *testing.T, text string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// Answers of the API are those without /ui, compressed, and not sent again while they are the same.
func TestUIAnswersAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil, func(o *Options) { o.Now = func() time.Time { return time.Unix(1_790_000_000, 0) } })
	s := newSurfer(t, r.url)
	for _, path := range []string{"/api/agents", "/api/work-sessions?limit=3&include=summary", "/api/events?scope=all", "/api/nothing", "/api/events?limit=0", "/api/openapi.yaml"} {
		direct, want := s.ask(t, http.MethodGet, path, "")
		plain, text := s.ask(t, http.MethodGet, "/ui"+path, "")
		zipped, content := s.ask(t, http.MethodGet, "/ui"+path, "", "Accept-Encoding", "gzip, br")
		if zipped.Header.Get("Content-Encoding") == "gzip" {
			content = unzip(t, content)
		} else if len(want) > 1024 {
			t.Errorf("%s: %d bytes are not compressed", path, len(want))
		}
		if plain.StatusCode != direct.StatusCode || text != want || content != want || plain.Header.Get("Content-Encoding") != "" ||
			plain.Header.Get("X-As-Of-Seq") != direct.Header.Get("X-As-Of-Seq") {
			t.Errorf("%s: %s\n%.200s\nwithout /ui %s\n%.200s", path, plain.Status, text, direct.Status, want)
		}
		tag := plain.Header.Get("ETag")
		if ok := direct.StatusCode == http.StatusOK; ok != strings.HasPrefix(tag, `W/"`) || zipped.Header.Get("ETag") != tag {
			t.Errorf("%s: ETag %q, compressed %q", path, tag, zipped.Header.Get("ETag"))
		}
		if tag == "" {
			continue
		}
		head, _ := s.ask(t, http.MethodHead, "/ui"+path, "")
		again, text := s.ask(t, http.MethodGet, "/ui"+path, "", "If-None-Match", tag)
		if head.Header.Get("ETag") != tag || again.StatusCode != http.StatusNotModified || text != "" || again.Header.Get("ETag") != tag ||
			again.Header.Get("X-As-Of-Seq") != direct.Header.Get("X-As-Of-Seq") {
			t.Errorf("%s again: %s %v, HEAD %v", path, again.Status, again.Header, head.Header)
		}
	}
	r.write(t, settings.FileName, `{agents: {list: [{id: 'later'}]}}`)
	r.rereads(t)
	_, before := s.ask(t, http.MethodGet, "/ui/api/agents", "")
	if !strings.Contains(before, "later") {
		t.Errorf("an older answer: %s", before)
	}
}

// Without a write token everyone on this machine may use the page, and no one else: a proxy's clients have to log in.
func TestUIOnThisMachine(t *testing.T) {
	t.Parallel()
	r := startReloading(t, nil)
	handler := r.handler()
	asks := func(peer string, headers ...string) (status int, a sessionAnswer) {
		status = 0
		for _, path := range []string{"/ui/api/health", "/ui/session"} {
			request := httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody)
			request.RemoteAddr = peer
			for i := 0; i < len(headers); i += 2 {
				request.Header.Add(headers[i], headers[i+1])
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			if path == "/ui/session" {
				a = decodeSession(t, response.Body.String())
			} else {
				status = response.Code
			}
		}
		return status, a
	}
	for _, c := range []struct {
		peer    string
		headers []string
		open    bool
	}{
		{"127.0.0.1:1", nil, true},
		{"[::1]:1", nil, true},
		{"[::ffff:127.0.0.1]:1", nil, true},
		{"127.0.0.1:1", []string{"X-Task-Monitor-Token", "x", "X-Request-Id", "1", "Accept-Encoding", "gzip"}, true},
		{"127.0.0.1:1", []string{"X-Forwarded-For", "127.0.0.1, ::1", "X-Forwarded-Proto", "http"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-For", ""}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-Port", "443"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-Server", "hub"}, false},
		{"127.0.0.1:1", []string{"X-Original-Forwarded-For", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"X-Original-Host", "hub"}, false},
		{"127.0.0.1:1", []string{"CF-Connecting-IP", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"X-Client-IP", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"True-Client-IP", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"Tailscale-User-Login", "a@example.com"}, false},
		{"192.0.2.7:1", nil, false},
		{"192.0.2.7:1", []string{"X-Forwarded-For", "127.0.0.1"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-For", "127.0.0.1, 192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-For", "127.0.0.1", "X-Forwarded-For", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-For", "unknown"}, false},
		{"127.0.0.1:1", []string{"X-Real-Ip", "192.0.2.7"}, false},
		{"127.0.0.1:1", []string{"Forwarded", "for=127.0.0.1"}, false},
		{"127.0.0.1:1", []string{"X-Forwarded-Proto", "https"}, false},
		{"127.0.0.1:1", []string{"Via", "1.1 proxy"}, false},
	} {
		status, a := asks(c.peer, c.headers...)
		if open := status == http.StatusOK; open != c.open || a.LoginRequired == c.open || (a.Role == "operate") != c.open || a.Role == "none" == c.open || a.By != "" {
			t.Errorf("%s %v: %d %+v", c.peer, c.headers, status, a)
		}
	}
	sealed := startReloading(t, map[string]string{settings.FileName: `{agents: {list: [`})
	s := newSurfer(t, sealed.url)
	response, text := s.post(t, "/ui/api/work/x/resend", "{}")
	if a := s.session(t); a.Role != "read" || s.reads(t) != http.StatusOK || response.StatusCode != http.StatusForbidden {
		t.Errorf("with a broken configuration: %+v, a write gets %s %s", a, response.Status, text)
	}
}

// Each secret opens its role, and what is none opens nothing.
func TestUILogin(t *testing.T) {
	t.Parallel()
	clock := &movedClock{}
	r := startReloading(t, guardedFiles, guarded, func(o *Options) { o.Now = clock.Now })
	for _, c := range []struct{ secret, role, by string }{
		{uiViewerToken, "read", "민수"}, {uiWriteToken, "operate", "operator"}, {uiGatewayToken, "operate", "operator"}, {sqlToken, "admin", "admin"},
	} {
		s := newSurfer(t, r.url)
		if before := s.session(t); before.Role != "none" || !before.LoginRequired || before.ExpiresAtMS != nil {
			t.Errorf("before: %+v", before)
		}
		if _, text := s.ask(t, http.MethodGet, "/ui/session", ""); text != `{"role":"none","loginRequired":true}` {
			t.Errorf("strangers are told %s", text)
		}
		response, a := s.login(t, token(c.secret))
		if response.StatusCode != http.StatusOK || a.Role != c.role || a.By != c.by || a.ExpiresAtMS == nil || a.Mode != "produce" || len(a.LogID) != 8 ||
			!a.Features["sql"] || !a.Features["gateway"] || a.Features["discord"] {
			t.Errorf("%s: %s %+v", c.role, response.Status, a)
		}
		if again := s.session(t); again.Role != c.role || again.By != c.by || s.reads(t) != http.StatusOK {
			t.Errorf("%s then: %+v", c.role, again)
		}
		if response, _ := s.ask(t, http.MethodDelete, "/ui/session", "", pageWrite...); response.StatusCode != http.StatusNoContent ||
			response.Header.Get("Clear-Site-Data") != `"cache"` {
			t.Errorf("logout: %s %v", response.Status, response.Header)
		}
		if after := s.session(t); after.Role != "none" || s.reads(t) != http.StatusUnauthorized {
			t.Errorf("%s after the logout: %+v", c.role, after)
		}
	}
	for body, want := range map[string]string{
		`{"token":"wrong"}`: "401 wrong_token", `{"code":"wrong"}`: "401 code_used", `{}`: "400 missing_field", `{"token":"a","code":"b"}`: "400 missing_field",
		`{"token":7}`: "400 invalid_body", `{"tokens":"x"}`: "400 invalid_body", `[]`: "400 invalid_body", ``: "400 invalid_body", `{"token":"a"}{}`: "400 invalid_body",
		`{"token":"` + strings.Repeat("x", 9000) + `"}`: "413 too_large",
	} {
		response, a := newSurfer(t, r.url).login(t, body)
		if got := fmt.Sprint(response.StatusCode, " ", a.Code); got != want || a.Hint == "" || len(response.Cookies()) > 0 {
			t.Errorf("%.40s: %s %q, want %s", body, got, a.Hint, want)
		}
	}
}

// The role of an administrator is for a short time, and adds to the session that was there.
func TestUIAdminIsRaisedForAWhile(t *testing.T) {
	t.Parallel()
	clock := &movedClock{}
	r := startReloading(t, guardedFiles, guarded, func(o *Options) { o.Now = clock.Now })
	s := asSurfer(t, r.url, uiGatewayToken)
	response, a := s.login(t, token(sqlToken))
	if len(response.Cookies()) != 1 || a.Role != "admin" || time.UnixMilli(*a.ExpiresAtMS).Sub(clock.Now()) > ui.RaisedTime {
		t.Errorf("%+v %v", a, response.Cookies())
	}
	if response, text := s.post(t, "/ui/api/sql", `{"sql":"SELECT 1"}`); response.StatusCode != http.StatusOK {
		t.Errorf("SQL: %s %s", response.Status, text)
	}
	clock.Advance(ui.RaisedTime)
	if a := s.session(t); a.Role != "operate" || a.By != "operator" {
		t.Errorf("after it: %+v", a)
	}
	if response, text := s.post(t, "/ui/api/sql", `{"sql":"SELECT 1"}`); response.StatusCode != http.StatusForbidden || !strings.Contains(text, `"forbidden"`) {
		t.Errorf("SQL after it: %s %s", response.Status, text)
	}
	// In a viewer's browser, at whose login an administrator helps, remembered or not.
	viewer := asSurfer(t, r.url, uiViewerToken)
	response, a = viewer.login(t, `{"token":"`+sqlToken+`","remember":true}`)
	if len(response.Cookies()) != 1 || !strings.HasSuffix(response.Cookies()[0].Name, "_admin") || response.Cookies()[0].MaxAge != int(ui.RaisedTime.Seconds()) || a.Role != "admin" {
		t.Errorf("a viewer raised: %+v %v", a, response.Cookies())
	}
	alone := newSurfer(t, r.url)
	if response, _ := alone.login(t, `{"token":"`+sqlToken+`","remember":true}`); len(response.Cookies()) != 2 || response.Cookies()[0].MaxAge != 0 ||
		response.Cookies()[1].MaxAge != int(ui.RaisedTime.Seconds()) {
		t.Errorf("remembered: %v", response.Cookies())
	}
	clock.Advance(ui.RaisedTime)
	if a := alone.session(t); a.Role != "operate" || a.By != "admin" {
		t.Errorf("without a session before: %+v", a)
	}
	if a := viewer.session(t); a.Role != "read" || a.By != "민수" {
		t.Errorf("the viewer after it: %+v", a)
	}
	clock.Advance(ui.SessionTime)
	if a := alone.session(t); a.Role != "none" {
		t.Errorf("an administrator is remembered: %+v", a)
	}
}

// Cookies are for this browser and this page alone, and over TLS for TLS alone, also where a proxy on this machine has ended it.
func TestUICookieFlags(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	logIn := func(peer, body string, headers ...string) *http.Cookie {
		request := httptest.NewRequest(http.MethodPost, "http://localhost/ui/session", strings.NewReader(body))
		request.RemoteAddr = peer
		for _, list := range [][]string{pageWrite, headers} {
			for i := 0; i < len(list); i += 2 {
				request.Header.Set(list[i], list[i+1])
			}
		}
		response := httptest.NewRecorder()
		r.handler().ServeHTTP(response, request)
		cookies := response.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%s %s: %d %v", peer, body, response.Code, cookies)
		}
		return cookies[0]
	}
	once, kept := token(uiViewerToken), `{"token":"`+uiViewerToken+`","remember":true}`
	for _, c := range []struct {
		peer    string
		body    string
		headers []string
		secure  bool
		age     int
	}{
		{"127.0.0.1:1", once, nil, false, 0},
		{"127.0.0.1:1", kept, nil, false, 2592000},
		{"127.0.0.1:1", kept, []string{"X-Forwarded-Proto", "https", "X-Forwarded-For", "192.0.2.7"}, true, 2592000},
		{"127.0.0.1:1", once, []string{"X-Forwarded-Proto", "http"}, false, 0},
		{"192.0.2.7:1", once, []string{"X-Forwarded-Proto", "https"}, false, 0},
	} {
		got := logIn(c.peer, c.body, c.headers...)
		if !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "" || got.Domain != "" || got.Secure != c.secure || got.MaxAge != c.age ||
			!regexp.MustCompile(`^oc_ui_[0-9a-f]{8}$`).MatchString(got.Name) {
			t.Errorf("%s %v: %s", c.peer, c.headers, got)
		}
	}
}

// Only cookies of this server count, with the role and the time that it gave them.
//
// Promise: page
func TestUIForgedCookies(t *testing.T) {
	t.Parallel()
	clock := &movedClock{}
	withClock := func(o *Options) { o.Now = clock.Now }
	r := startReloading(t, guardedFiles, guarded, withClock)
	other := startReloading(t, guardedFiles, guarded, withClock)
	cookieOf := func(url, secret string) *http.Cookie {
		response, _ := newSurfer(t, url).login(t, token(secret))
		return response.Cookies()[0]
	}
	statusOf := func(name, value string) int {
		response, _ := newSurfer(t, r.url).ask(t, http.MethodGet, "/ui/api/health", "", "Cookie", name+"="+value)
		return response.StatusCode
	}
	viewer, theirs := cookieOf(r.url, uiViewerToken), cookieOf(other.url, uiViewerToken)
	if viewer.Name == theirs.Name {
		t.Errorf("two servers on a host share the cookie %s", viewer.Name)
	}
	if got := statusOf(viewer.Name, viewer.Value); got != http.StatusOK {
		t.Fatalf("the cookie itself: %d", got)
	}
	parts := strings.Split(viewer.Value, ".")
	changed := func(i int, text string) string {
		p := slices.Clone(parts)
		p[i] = text
		return strings.Join(p, ".")
	}
	operator := strings.Split(cookieOf(r.url, uiGatewayToken).Value, ".")
	for what, value := range map[string]string{
		"empty": "", "authenticated": "authenticated", "other server": theirs.Value, "other version": changed(0, "v2"), "higher role": changed(1, "operate"),
		"admin": changed(1, "admin"), "other source": changed(2, operator[2]), "code": changed(2, "code"), "later": changed(3, "9999999999"), "no time": changed(3, "x"),
		"other nonce": changed(4, "A"), "no signature": changed(5, ""), "other signature": changed(5, operator[5]), "too few parts": strings.Join(parts[:5], "."),
		"more parts": viewer.Value + ".x", "long": viewer.Value + strings.Repeat("x", 1000), "role of another": strings.Join([]string{parts[0], operator[1], operator[2], parts[3], parts[4], parts[5]}, "."),
	} {
		if got := statusOf(viewer.Name, value); got != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, got)
		}
	}
	for i := range viewer.Value { // any change of any character
		next := byte('A')
		if viewer.Value[i] == 'A' {
			next = 'B'
		}
		if got := statusOf(viewer.Name, viewer.Value[:i]+string(next)+viewer.Value[i+1:]); got != http.StatusUnauthorized {
			t.Errorf("character %d changed: %d", i, got)
		}
	}
	if got := statusOf(viewer.Name+"_admin", viewer.Value); got != http.StatusUnauthorized {
		t.Errorf("as the cookie that raises: %d", got)
	}
	if response, _ := newSurfer(t, r.url).ask(t, http.MethodPost, "/api/work/x/resend", "{}", "Cookie", viewer.Name+"="+cookieOf(r.url, uiGatewayToken).Value); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("outside of /ui: %s", response.Status)
	}
	clock.Advance(ui.SessionTime)
	if got := statusOf(viewer.Name, viewer.Value); got != http.StatusUnauthorized {
		t.Errorf("expired: %d", got)
	}
}

// Browsers send a host's cookies to every port: servers on one host do not end each other's sessions.
func TestUITwoServersOnOneHost(t *testing.T) {
	t.Parallel()
	r, other := startReloading(t, guardedFiles, guarded), startReloading(t, guardedFiles, guarded)
	s := asSurfer(t, r.url, uiViewerToken)
	theirs := &surfer{other.url, s.client}
	if theirs.reads(t) != http.StatusUnauthorized {
		t.Error("a session of the first server opens the second")
	}
	if response, a := theirs.login(t, token(uiGatewayToken)); response.StatusCode != http.StatusOK || a.Role != "operate" {
		t.Errorf("login: %s %+v", response.Status, a)
	}
	if a, b := s.session(t), theirs.session(t); a.Role != "read" || b.Role != "operate" {
		t.Errorf("%+v, %+v", a, b)
	}
}

// Sessions outlive a restart; logging out ends the one session and its WebSockets, also for whom has a copy of the cookie; a new gateway token ends all of them, a removed secret those that rest on it.
func TestUISessionsEnd(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	r.opts.API = strings.TrimPrefix(r.url, "http://")
	viewer, operator := asSurfer(t, r.url, uiViewerToken), asSurfer(t, r.url, uiGatewayToken)
	r.restart(t, nil)
	if viewer.reads(t) != http.StatusOK || operator.reads(t) != http.StatusOK {
		t.Error("a restart has ended sessions")
	}
	leaving, same := asSurfer(t, r.url, uiViewerToken), asSurfer(t, r.url, uiViewerToken)
	leaving.login(t, token(sqlToken))
	at, err := url.Parse(r.url + "/ui/session")
	if err != nil {
		t.Fatal(err)
	}
	copied := newSurfer(t, r.url)
	copied.client.Jar.SetCookies(at, leaving.client.Jar.Cookies(at))
	left := openSocket(t, r, copied)
	if a := copied.session(t); a.Role != "admin" {
		t.Fatalf("the copy: %+v", a)
	}
	if response, _ := leaving.ask(t, http.MethodDelete, "/ui/session", "", pageWrite...); response.StatusCode != http.StatusNoContent {
		t.Errorf("logout: %s", response.Status)
	}
	awaitClose(t, left)
	if a := copied.session(t); a.Role != "none" || copied.reads(t) != http.StatusUnauthorized || same.reads(t) != http.StatusOK {
		t.Errorf("after the logout: %+v, another session of the same viewer gets %d", a, same.reads(t))
	}
	conn := openSocket(t, r, viewer)
	r.write(t, settings.FileName, `{gateway: {auth: {token: '`+uiGatewayToken+`'}}, taskMonitor: {writeToken: '`+uiWriteToken+`'}, ui: {viewers: []}}`)
	r.rereads(t)
	if viewer.reads(t) != http.StatusUnauthorized || operator.reads(t) != http.StatusOK {
		t.Error("a removed viewer still reads, or others no longer do")
	}
	awaitClose(t, conn)
	if _, err := settings.MakeUIKey(settings.UIKeyFile(r.opts.StateDir), sameBytes(1)); err != nil { // as openclawd token --new does
		t.Fatal(err)
	}
	if operator.reads(t) != http.StatusUnauthorized {
		t.Error("a new key has not ended the session")
	}
	operator, other := asSurfer(t, r.url, uiGatewayToken), asSurfer(t, r.url, uiWriteToken)
	if response, _ := newSurfer(t, r.url).ask(t, http.MethodDelete, "/ui/session?everywhere=true", "", pageWrite...); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("everywhere without a session: %s", response.Status)
	}
	if response, _ := operator.ask(t, http.MethodDelete, "/ui/session?everywhere=true", "", pageWrite...); response.StatusCode != http.StatusNoContent || other.reads(t) != http.StatusUnauthorized {
		t.Errorf("everywhere: %s, and the other session reads", response.Status)
	}
}

// openSocket opens a browser's WebSocket.
func openSocket(t *testing.T, r *reloading, s *surfer) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Jar: s.client.Jar}
	conn, answer, err := dialer.Dial(strings.Replace(r.url, "http", "ws", 1)+"/ui/ws", http.Header{"Origin": {r.url}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	t.Cleanup(func() { conn.Close() })
	return conn
}

// awaitClose reads a WebSocket until the server closes it.
func awaitClose(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	err := conn.SetReadDeadline(time.Now().Add(testscale.Patience))
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsUnexpectedCloseError(err) {
		t.Errorf("the WebSocket is not closed: %v", err)
	}
}

// addressOf is where a server is reached.
func addressOf(t *testing.T, r *reloading) netip.AddrPort {
	t.Helper()
	at, err := netip.ParseAddrPort(strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sameBytes is a source of the same bytes.
type sameBytes byte

func (r sameBytes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// codeFor gets a one-time code as openclawd open does.
func codeFor(t *testing.T, r *reloading) (answer sessionAnswer) {
	t.Helper()
	key, err := settings.ReadUIKey(settings.UIKeyFile(r.opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	s := newSurfer(t, r.url)
	_, text := s.ask(t, http.MethodPost, "/ui/code", "{}")
	challenge := decodeSession(t, text).Challenge
	_, text = s.ask(t, http.MethodPost, "/ui/code", fmt.Sprintf(`{"challenge":%q,"proof":%q}`, challenge, ui.Proof(key.Key, challenge, addressOf(t, r))))
	return decodeSession(t, text)
}

// A one-time code is for those who can read the key, opens one session, and only within a minute.
func TestUICodes(t *testing.T) {
	t.Parallel()
	clock := &movedClock{}
	r := startReloading(t, guardedFiles, guarded, func(o *Options) { o.Now = clock.Now })
	code := codeFor(t, r).Code
	if len(code) < 22 { // 128 bits
		t.Fatalf("code %q", code)
	}
	s := newSurfer(t, r.url)
	response, a := s.login(t, `{"code":"`+code+`"}`)
	if a.Role != "operate" || a.By != "operator" || response.Cookies()[0].MaxAge != 2592000 || s.reads(t) != http.StatusOK {
		t.Errorf("%s %+v", response.Status, a)
	}
	if response, a := newSurfer(t, r.url).login(t, `{"code":"`+code+`"}`); response.StatusCode != http.StatusUnauthorized || a.Code != "code_used" {
		t.Errorf("again: %s %+v", response.Status, a)
	}
	late := codeFor(t, r).Code
	clock.Advance(ui.CodeTime)
	if response, a := newSurfer(t, r.url).login(t, `{"code":"`+late+`"}`); response.StatusCode != http.StatusUnauthorized || a.Code != "code_used" {
		t.Errorf("late: %s %+v", response.Status, a)
	}
	_, text := s.ask(t, http.MethodPost, "/ui/code", "{}")
	challenge := decodeSession(t, text).Challenge
	if response, _ := newSurfer(t, r.url).login(t, `{"code":"`+challenge+`"}`); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a challenge as a code: %s", response.Status)
	}
	key, err := settings.ReadUIKey(settings.UIKeyFile(r.opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	here := addressOf(t, r)
	proven := fmt.Sprintf(`{"challenge":%q,"proof":%q}`, challenge, ui.Proof(key.Key, challenge, here))
	elsewhere := netip.AddrPortFrom(here.Addr(), here.Port()^1)
	for what, c := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"another key":    {fmt.Sprintf(`{"challenge":%q,"proof":%q}`, challenge, ui.Proof([]byte("x"), challenge, here)), nil, 401},
		"another server": {fmt.Sprintf(`{"challenge":%q,"proof":%q}`, challenge, ui.Proof(key.Key, challenge, elsewhere)), nil, 401},
		"no proof":       {fmt.Sprintf(`{"challenge":%q}`, challenge), nil, 401},
		"made up":        {fmt.Sprintf(`{"challenge":"x","proof":%q}`, ui.Proof(key.Key, "x", here)), nil, 401},
		"page":           {proven, []string{"Origin", r.url}, 403},
		"older page":     {proven, []string{"Sec-Fetch-Site", "same-origin"}, 403},
	} {
		if response, text := s.ask(t, http.MethodPost, "/ui/code", c.body, c.headers...); response.StatusCode != c.status || strings.Contains(text, `"expiresInSeconds"`) {
			t.Errorf("%s: %s %s", what, response.Status, text)
		}
	}
	for range 1100 { // others push out no challenge
		s.ask(t, http.MethodPost, "/ui/code", "{}")
	}
	for n, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		if response, text := s.ask(t, http.MethodPost, "/ui/code", proven); response.StatusCode != want {
			t.Errorf("the proof, %d: %s %s", n, response.Status, text)
		}
	}
	_, text = s.ask(t, http.MethodPost, "/ui/code", "{}")
	challenge = decodeSession(t, text).Challenge
	clock.Advance(ui.CodeTime)
	if response, _ := s.ask(t, http.MethodPost, "/ui/code", fmt.Sprintf(`{"challenge":%q,"proof":%q}`, challenge, ui.Proof(key.Key, challenge, here))); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a late proof: %s", response.Status)
	}
	link := r.HubLink(true)
	_, inLink, _ := strings.Cut(link, ui.CodeFragment)
	if response, _ := newSurfer(t, r.url).login(t, `{"code":"`+inLink+`"}`); response.StatusCode != http.StatusOK || r.HubLink(false) != r.url+"/ui/" {
		t.Errorf("link %s: %s", link, response.Status)
	}
}

// Who guesses is locked out, also from what is right and whatever else was right before; the owner is not, and it ends.
func TestUIGuessesAreLimited(t *testing.T) {
	t.Parallel()
	clock := &movedClock{}
	r := startReloading(t, guardedFiles, guarded, func(o *Options) { o.Now = clock.Now })
	s := newSurfer(t, r.url)
	guess := func(body string, headers ...string) int {
		response, a := s.login(t, body, headers...)
		if response.StatusCode == http.StatusTooManyRequests && (a.Code != "locked_out" || response.Header.Get("Retry-After") == "") {
			t.Errorf("locked out with %+v", a)
		}
		return response.StatusCode
	}
	for n := range 9 {
		if got := guess(fmt.Sprintf(`{"token":"guess %d"}`, n)); got != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", n, got)
		}
	}
	if got := guess(token(uiViewerToken)); got != http.StatusOK {
		t.Errorf("a viewer's own token: %d", got)
	}
	if got := guess(token("guess 10")); got != http.StatusUnauthorized {
		t.Errorf("the tenth guess: %d", got)
	}
	for _, body := range []string{token("x"), token(uiGatewayToken), token(uiViewerToken), `{"code":"x"}`} {
		if got := guess(body); got != http.StatusTooManyRequests {
			t.Errorf("%s: %d", body, got)
		}
	}
	// Anyone on this machine can cause that. The owner gets in.
	for range 20 {
		s.ask(t, http.MethodPost, "/ui/code", `{"challenge":"x","proof":"y"}`)
	}
	owner := newSurfer(t, r.url)
	if response, a := owner.login(t, `{"code":"`+codeFor(t, r).Code+`"}`); response.StatusCode != http.StatusOK || a.Role != "operate" {
		t.Errorf("a link: %s %+v", response.Status, a)
	}
	if got := guess(token(uiGatewayToken)); got != http.StatusTooManyRequests {
		t.Errorf("the link has ended the lockout: %d", got)
	}
	// Addresses that a program on this machine names are not locked out, but there is a limit for all of them.
	for n := range 100 {
		if got := guess(token("x"), "X-Forwarded-For", "192.0.2.1"); got != http.StatusUnauthorized {
			t.Fatalf("relayed guess %d: %d", n, got)
		}
		if n == 50 {
			if got := guess(token(uiGatewayToken), "X-Forwarded-For", "192.0.2.1"); got != http.StatusOK {
				t.Errorf("the client that was named: %d", got)
			}
		}
	}
	for _, client := range []string{"192.0.2.1", "192.0.2.2", "198.51.100.9, 192.0.2.3"} {
		if got := guess(token(uiGatewayToken), "X-Forwarded-For", client); got != http.StatusTooManyRequests {
			t.Errorf("%s: %d", client, got)
		}
	}
	if got := guess(`{"code":"`+codeFor(t, r).Code+`"}`, "X-Forwarded-For", "192.0.2.1"); got != http.StatusOK {
		t.Errorf("a link through the proxy: %d", got)
	}
	clock.Advance(5 * time.Minute)
	for _, headers := range [][]string{nil, {"X-Forwarded-For", "192.0.2.1"}} {
		if got := guess(token(uiGatewayToken), headers...); got != http.StatusOK {
			t.Errorf("five minutes later: %d", got)
		}
	}
	// Another machine is counted by its address, with its neighbours in IPv6.
	from := func(peer, secret string) int {
		request := httptest.NewRequest(http.MethodPost, "http://localhost/ui/session", strings.NewReader(token(secret)))
		request.RemoteAddr = peer
		for i := 0; i < len(pageWrite); i += 2 {
			request.Header.Set(pageWrite[i], pageWrite[i+1])
		}
		response := httptest.NewRecorder()
		r.handler().ServeHTTP(response, request)
		return response.Code
	}
	for n := range 10 {
		from("192.0.2.7:1", "x")
		from(fmt.Sprintf("[2001:db8::%x]:1", n), "x")
	}
	for peer, want := range map[string]int{"192.0.2.7:2": 429, "192.0.2.8:1": 200, "[2001:db8::ffff]:1": 429, "[2001:db8:0:1::1]:1": 200} {
		if got := from(peer, uiGatewayToken); got != want {
			t.Errorf("%s: %d, want %d", peer, got, want)
		}
	}
}

// Each of the walls against other sites holds alone, where the others let a request pass.
//
// Promise: page
func TestUIWalls(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	s := asSurfer(t, r.url, uiWriteToken)
	own := "http://" + strings.TrimPrefix(r.url, "http://")
	const path = "/ui/api/work/x/resend"
	head, err := r.Program.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		headers []string
		code    string // "" where the API answers
	}{
		"the page":                     {pageWrite, ""},
		"an older browser's page":      {[]string{"Origin", own, "Content-Type", "application/json", ui.HeaderUI, "1"}, ""},
		"behind TLS":                   {[]string{"Origin", "https" + own[4:], "Content-Type", "application/json", ui.HeaderUI, "1"}, ""},
		"a program":                    {[]string{"Content-Type", "application/json; charset=utf-8", ui.HeaderUI, "1"}, ""},
		"another site":                 {[]string{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"another port":                 {[]string{"Sec-Fetch-Site", "same-site", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"the address bar":              {[]string{"Sec-Fetch-Site", "none", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"two sites":                    {[]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"an older browser's evil page": {[]string{"Origin", "http://evil.example", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"a sandbox":                    {[]string{"Origin", "null", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"another port of this machine": {[]string{"Origin", "http://127.0.0.1:1", "Content-Type", "application/json", ui.HeaderUI, "1"}, "cross_origin"},
		"a form":                       {[]string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded", ui.HeaderUI, "1"}, "unsupported_media_type"},
		"no type":                      {[]string{"Sec-Fetch-Site", "same-origin", ui.HeaderUI, "1"}, "unsupported_media_type"},
		"no header":                    {[]string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}, "cross_origin"},
		"a rebound name":               {append([]string{"Host", "evil.example"}, pageWrite...), "unknown_host"},
	} {
		response, text := s.ask(t, http.MethodPost, path, "{}", c.headers...)
		var refused struct{ Code, Field string }
		if err := json.Unmarshal([]byte(text), &refused); err != nil {
			t.Errorf("%s: %s", what, text)
		}
		if passed := response.StatusCode == http.StatusNotFound && refused.Code == "not_found"; passed != (c.code == "") || !passed && refused.Code != c.code {
			t.Errorf("%s: %s %s, want %q", what, response.Status, text, c.code)
		}
	}
	for _, kind := range []string{"", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/jsonp"} {
		headers := []string{"Sec-Fetch-Site", "same-origin", ui.HeaderUI, "1"}
		if kind != "" {
			headers = append(headers, "Content-Type", kind)
		}
		if response, text := s.ask(t, http.MethodPost, path, "", headers...); response.StatusCode != http.StatusUnsupportedMediaType { // where the API reads no body
			t.Errorf("an empty body of %q: %s %s", kind, response.Status, text)
		}
	}
	for what, headers := range map[string][]string{"a site": {"Sec-Fetch-Site", "cross-site"}, "a port": {"Sec-Fetch-Site", "same-site"}, "an older browser": {"Origin", "http://evil.example"}} {
		for _, path := range []string{"/ui/api/health", "/ui/session", "/ui/readyz"} {
			if response, text := s.ask(t, http.MethodGet, path, "", headers...); response.StatusCode != http.StatusForbidden {
				t.Errorf("%s reads %s: %s %s", what, path, response.Status, text)
			}
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		if response, _ := s.ask(t, method, "/ui/session", token(uiWriteToken), "Sec-Fetch-Site", "cross-site", "Content-Type", "application/json", ui.HeaderUI, "1"); response.StatusCode != http.StatusForbidden {
			t.Errorf("another site %ss /ui/session: %s", method, response.Status)
		}
	}
	if response, _ := s.ask(t, http.MethodGet, "/ui/c/x", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"); response.StatusCode != http.StatusOK {
		t.Errorf("a link from elsewhere: %s", response.Status)
	}
	ws := strings.Replace(r.url, "http", "ws", 1) + "/ui/ws"
	for origin, status := range map[string]int{own: 101, "https" + own[4:]: 101, "http://evil.example": 403, "http://127.0.0.1:1": 403, "null": 403, "": 403} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		conn, answer, err := (&websocket.Dialer{Jar: s.client.Jar}).Dial(ws, header)
		if err == nil {
			conn.Close()
		}
		if answer == nil || answer.StatusCode != status {
			t.Errorf("WebSocket of %q: %v %v", origin, answer, err)
		}
	}
	if conn, answer, err := websocket.DefaultDialer.Dial(ws, http.Header{"Origin": {own}}); err == nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("WebSocket without the cookie: %v %v", conn, err)
	}
	if now, err := r.Program.log.Head(t.Context()); err != nil || now.Seq != head.Seq {
		t.Errorf("something was written: %d, then %d, %v", head.Seq, now.Seq, err)
	}
}

// What each role may do with each operation of the API.
//
// Promise: page
func TestUIRoles(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded, func(o *Options) { o.Backups.Dir = filepath.Join(o.StateDir, "backups") })
	_, contract := newSurfer(t, r.url).ask(t, http.MethodGet, "/api/openapi.yaml", "")
	document, err := openapi3.NewLoader().LoadFromData([]byte(contract))
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]*surfer{"none": newSurfer(t, r.url), "read": asSurfer(t, r.url, uiViewerToken), "operate": asSurfer(t, r.url, uiGatewayToken), "admin": asSurfer(t, r.url, sqlToken)}
	order := []string{"none", "read", "operate", "admin"}
	least := map[string]string{"POST /api/sql": "admin", "GET /api/sql/schema": "admin", "POST /api/redactions": "admin", "POST /api/backups": "admin", "POST /api/backups/{name}/verify": "admin", "POST /api/cluster/step-down": "admin", "POST /api/cluster/promote": "admin", "GET /healthz": "none"}
	asked := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			what := method + " " + path
			if path == "/" || path == "/api" || path == "/metrics" || path == "/ws" || strings.HasPrefix(path, "/debug/") { // a WebSocket, and paths of the page itself
				continue
			}
			needs := least[what]
			if needs == "" && method == http.MethodGet {
				needs = "read"
			} else if needs == "" {
				needs = "operate"
			}
			asked[what] = true
			at := "/ui" + regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(path, "x")
			for i, role := range order {
				headers := pageWrite
				if method == http.MethodGet {
					headers = pageWrite[:2]
				}
				response, text := roles[role].ask(t, method, at, "{}", headers...)
				want := "" // neither 401 nor 403
				switch {
				case role == "none" && needs != "none":
					want = "401 unauthorized"
				case i < slices.Index(order, needs):
					want = "403 forbidden"
				}
				var refused struct{ Code string }
				_ = json.Unmarshal([]byte(text), &refused)
				got := ""
				if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
					got = fmt.Sprint(response.StatusCode, " ", refused.Code)
				}
				if got != want || response.StatusCode >= 500 && response.StatusCode != http.StatusBadGateway {
					t.Errorf("%s as %s: %s %.200s, want %q", what, role, response.Status, text, want)
				}
			}
		}
	}
	for what := range least {
		if !asked[what] {
			t.Errorf("%s was not asked", what)
		}
	}
	if len(asked) < 40 {
		t.Errorf("only %d operations", len(asked))
	}
}

// What is known here about a session reaches no other server: neither its cookie nor other credentials.
func TestUISendsNoCredentialsOn(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.Header.Clone():
		default:
		}
		_, _ = io.WriteString(w, `{"milestones":[]}`)
	}))
	defer hub.Close()
	r := startReloading(t, map[string]string{settings.FileName: `{gateway: {auth: {token: '` + uiGatewayToken + `'}},
		taskMonitor: {writeToken: '` + uiWriteToken + `', taskHubUrl: '` + hub.URL + `'}}`}, guarded)
	s := asSurfer(t, r.url, uiWriteToken)
	if response, text := s.ask(t, http.MethodGet, "/ui/api/milestones", "", "Authorization", "Bearer "+sqlToken); response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", response.Status, text)
	}
	header := waitFor(t, "Task-Hub", seen)
	if text := fmt.Sprint(header); strings.Contains(text, "oc_ui_") || strings.Contains(text, sqlToken) {
		t.Errorf("sent on: %v", header)
	}
}

// lockedBuffer is a log that several goroutines write.
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

// Secrets, cookies, codes and the key are in no log line and in no answer but the one that gives them out.
func TestUISecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	opts, log := p.opts, &lockedBuffer{}
	opts.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	guarded(&opts)
	r := &reloading{Program: New(opts), ready: ready}
	for name, text := range guardedFiles {
		r.write(t, name, text)
	}
	r.start(t)
	key, err := settings.ReadUIKey(settings.UIKeyFile(opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{uiViewerToken, uiWriteToken, uiGatewayToken, sqlToken, fmt.Sprintf("%x", key.Key)}
	var answers strings.Builder
	for _, secret := range secrets[:4] {
		s := newSurfer(t, r.url)
		response, text := s.post(t, "/ui/session", token(secret))
		for _, cookie := range response.Cookies() {
			secrets = append(secrets, cookie.Value)
		}
		answers.WriteString(text)
		for _, path := range []string{"/ui/session", "/ui/api/status", "/ui/api/agents", "/ui/readyz", "/ui/", "/ui/api/events?scope=all"} {
			_, text := s.ask(t, http.MethodGet, path, "")
			answers.WriteString(text)
		}
		_, text = s.post(t, "/ui/session", token("not "+secret))
		answers.WriteString(text)
		_, text = s.ask(t, http.MethodPost, "/ui/api/work/x/resend", "{}", "Content-Type", "application/json")
		answers.WriteString(text)
	}
	code := codeFor(t, r).Code
	secrets = append(secrets, code)
	_, text := newSurfer(t, r.url).post(t, "/ui/session", `{"code":"`+code+`"}`)
	answers.WriteString(text)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	logged := log.String()
	if !strings.Contains(logged, "session opened") || !strings.Contains(logged, "wrong secret") {
		t.Errorf("logins are not logged:\n%s", logged)
	}
	for i, secret := range secrets {
		if strings.Contains(logged, secret) || strings.Contains(answers.String(), secret) {
			t.Errorf("secret %d (%.4s…) is in the log or in an answer", i, secret)
		}
	}
}

// A state directory that cannot hold the key costs sessions at a restart, and nothing else.
func TestUIWithoutAKeyFile(t *testing.T) {
	t.Parallel()
	none := slog.New(slog.DiscardHandler)
	k := openUIKey(filepath.Join(t.TempDir(), "file\x00", "key"), none)
	if first := k.current(); len(first.Key) != 32 || !bytes.Equal(first.Key, k.current().Key) || k.renew() == nil {
		t.Errorf("key %d", len(first.Key))
	}
	path := filepath.Join(t.TempDir(), settings.UIKeyName)
	for _, broken := range []string{"", "x", "00000000", "00000000 x", "zz000000 " + strings.Repeat("A", 43), strings.Repeat("0", 2000)} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.ReadUIKey(path); err == nil {
			t.Errorf("%.20q is read as a key", broken)
		}
		first := openUIKey(path, none).current()
		if again := openUIKey(path, none).current(); len(first.Key) != 32 || !bytes.Equal(first.Key, again.Key) {
			t.Errorf("%.20q: not replaced by a key", broken)
		}
	}
	k = openUIKey(path, none)
	first := k.current()
	if err := k.renew(); err != nil || bytes.Equal(k.current().Key, first.Key) || !bytes.Equal(k.current().ID, first.ID) {
		t.Errorf("a new key: %v", err)
	}
	last := k.current()
	if err := os.WriteFile(path, []byte("broken"), 0o600); err != nil || !bytes.Equal(k.current().Key, last.Key) {
		t.Errorf("a broken file: %v", err)
	}
	if err := os.Remove(path); err != nil || !bytes.Equal(k.current().Key, last.Key) {
		t.Errorf("a removed file: %v", err)
	}
	log := &lockedBuffer{}
	if _, err := settings.MakeUIKey(path, sameBytes(7)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if openUIKey(path, slog.New(slog.NewTextHandler(log, nil))); !strings.Contains(log.String(), "chmod 600 ") {
		t.Errorf("a key that others may read: %s", log)
	}
}

// What a session changes is recorded as a person's change, with the name and the role of the session, whatever the request says; what the
// role may not do is refused, and nothing is stored.
func TestUIRecordsWhoChangesTasks(t *testing.T) {
	t.Parallel()
	r := startReloading(t, guardedFiles, guarded)
	startedTask(t, r.Program, "main", "task_ours")
	ours := "/ui/api/tasks/task_ours/"
	viewer := asSurfer(t, r.url, uiViewerToken)
	if response, text := viewer.post(t, ours+"priority", `{"priority":"low"}`); response.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: %s %s", response.Status, text)
	}
	for _, c := range []struct{ secret, what, body, says string }{
		{uiGatewayToken, "priority", `{"priority":"urgent","by":"someone else"}`, `"changed":true`},
		{uiGatewayToken, "priority", `{"priority":"urgent"}`, `"changed":false`},
		{sqlToken, "cancel", `{"reason":"중복"}`, `"by":"admin (admin)"`},
	} {
		if response, text := asSurfer(t, r.url, c.secret).post(t, ours+c.what, c.body); response.StatusCode != http.StatusOK || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s %s, want %s", c.what, response.Status, text, c.says)
		}
	}
	stored, err := r.Program.log.ReadStream(t.Context(), coordination.TaskStream("task_ours"), 0, 10)
	if err != nil || len(stored) != 3 {
		t.Fatalf("%d events, %v", len(stored), err)
	}
	for i, by := range []string{"operator (operate)", "admin (admin)"} {
		if e := &stored[i+1]; e.Actor != eventstore.ActorHuman || !strings.Contains(string(e.Data), `"decidedBy":"`+by+`"`) {
			t.Errorf("%s by %s: %s, want %s", e.Type, e.Actor, e.Data, by)
		}
	}
}
