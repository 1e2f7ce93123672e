package taskhub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/internal/taskhub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is the value of the cookie that is sent.
const secret = "hunter2hunter2"

// asking returns a client of a Task-Hub that answers with the handler.
func asking(t *testing.T, answer http.HandlerFunc) *taskhub.Client {
	t.Helper()
	hub := httptest.NewServer(answer)
	t.Cleanup(hub.Close)
	return taskhub.New(taskhub.Options{Address: func() (string, string) { return hub.URL, "session=" + secret }, Now: func() time.Time { return noon }})
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// refused checks an error, and that it contains no secret.
func refused(t *testing.T, what string, err error) *taskhub.Error {
	t.Helper()
	why, is := errors.AsType[*taskhub.Error](err)
	if !is {
		t.Fatalf("%s: %v, want a *taskhub.Error", what, err)
	}
	shown := fmt.Sprintf("%v %+v", err, *why)
	if strings.Contains(shown, secret) || strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 700 {
		t.Errorf("%s: contains a secret, or is not one readable line: %.900q", what, shown)
	}
	return why
}

func TestDoAsks(t *testing.T) {
	t.Parallel()
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch r.URL.Path {
		case "/api/milestones/none":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/api/milestones/blank":
			fmt.Fprint(w, " \n")
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "{\"asked\":%q,\"cookie\":%q,\"type\":%q,\"key\":%q,\"body\":%q}\n", r.Method+" "+r.URL.RequestURI(), r.Header.Get("Cookie"),
			r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), body)
	})
	for _, test := range []struct {
		method   string
		segments []string
		body     string
		header   http.Header
		want     string
	}{
		{"GET", nil, "", nil, `{"asked":"GET /api/milestones","cookie":"session=hunter2hunter2","type":"","key":"","body":""}`},
		{"PUT", []string{"m 1", "items", "한?#&=+"}, `{"status":"done"}`, http.Header{"Idempotency-Key": {"k"}},
			`{"asked":"PUT /api/milestones/m%201/items/%ED%95%9C%3F%23&=+","cookie":"session=hunter2hunter2","type":"application/json","key":"k","body":"{\"status\":\"done\"}"}`},
		{"POST", nil, `{}`, http.Header{"Cookie": {"own=1"}}, `{"asked":"POST /api/milestones","cookie":"own=1","type":"application/json","key":"","body":"{}"}`},
		{"GET", []string{"none"}, "", nil, ""},
		{"GET", []string{"blank"}, "", nil, ""},
	} {
		var body json.RawMessage
		if test.body != "" {
			body = json.RawMessage(test.body)
		}
		got, err := c.Do(t.Context(), test.method, test.segments, body, test.header)
		if err != nil || string(got) != test.want {
			t.Errorf("%s %q: %s, %v, want %s", test.method, test.segments, got, err, test.want)
		}
	}
}

// An error of Task-Hub has its status and message, and says whether a retry may help.
func TestDoTellsRefusals(t *testing.T) {
	t.Parallel()
	var status int
	var contentType, body, after string
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
	const js, html = "application/json", "text/html"
	for _, test := range []struct {
		status                   int
		contentType, body, after string
		text                     string
		wait                     time.Duration
		passing                  bool
	}{
		{400, js, `{"error":"title is missing"}`, "", "title is missing", 0, false},
		{401, js, `{"message":"log in"}`, "", "log in", 0, false},
		{404, js, `{"error":{"message":"no such milestone"}}`, "", "no such milestone", 0, false},
		{409, js, `{"error":true}`, "", "", 0, false},
		{408, js, `{}`, "", "", 0, true},
		{425, js, `[]`, "", "[]", 0, true},
		{429, js, `{"error":"slow down"}`, "7", "slow down", 7 * time.Second, true},
		{503, "", "", noon.Add(time.Minute).Format(http.TimeFormat), "", time.Minute, true},
		{503, "", "", noon.Add(-time.Minute).Format(http.TimeFormat), "", 0, true},
		{429, "", "", "999999999", "", 24 * time.Hour, true},
		{429, "", "", "-5", "", 0, true},
		{429, "", "", "soon", "", 0, true},
		{500, html, "<html><body>stack trace of " + secret, "", "", 0, true},
		{500, "text/plain", "it\r\n\tbroke\x1b[31m\x00 down", "", "it broke [31m down", 0, true},
		{500, js, `{"error":"your cookie session=` + secret + ` and ` + secret + `"}`, "", "your cookie *** and ***", 0, true},
		{500, js, `{"error":"` + strings.Repeat("x", 295) + secret + `"}`, "", strings.Repeat("x", 295) + "***", 0, true},
		{500, js, `{"error":"` + strings.Repeat("한", 200) + `"}`, "", strings.Repeat("한", 100) + "...", 0, true},
		{502, "text/plain", strings.Repeat("y", 2<<20), "", strings.Repeat("y", 300) + "...", 0, true},
		{304, "", "", "", "", 0, true},
	} {
		status, contentType, body, after = test.status, test.contentType, test.body, test.after
		what := fmt.Sprintf("%d %.60s", test.status, test.body)
		got, err := c.Do(t.Context(), "GET", []string{"m1"}, nil, nil)
		why := refused(t, what, err)
		if got != nil || why.Status != test.status || why.Text != test.text || why.RetryAfter() != test.wait || why.Temporary() != test.passing || why.Err != nil {
			t.Errorf("%s: %s, %+v, want text %q, to wait %s, temporary %t", what, got, *why, test.text, test.wait, test.passing)
		}
		if !strings.HasSuffix(why.Address, "/api/milestones/m1") || !strings.HasPrefix(err.Error(), fmt.Sprintf("Task-Hub %s: %d", why.Address, test.status)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A Task-Hub that misbehaves, or another server in its place, is a temporary error without a status; no other host is
// contacted.
func TestABadHub(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host received %s with cookie %q", r.URL, r.Header.Get("Cookie"))
	}))
	t.Cleanup(elsewhere.Close)
	release := make(chan struct{})
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, "/api/milestones/") {
		case "never":
			select {
			case <-r.Context().Done():
			case <-release:
			}
		case "slowly":
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				w.(http.Flusher).Flush()
				select {
				case <-time.After(20 * time.Millisecond):
				case <-release:
					return
				}
			}
		case "cut":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{}`))
		case "gone":
			panic(http.ErrAbortHandler)
		case "long":
			_, _ = w.Write(append([]byte(`"`), make([]byte, 2<<20)...))
		case "html":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "<html>log in</html>")
		case "two":
			fmt.Fprint(w, "{} {}")
		case "away":
			http.Redirect(w, r, elsewhere.URL+"/api/milestones", http.StatusTemporaryRedirect)
		case "round":
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		case "changed":
			http.Redirect(w, r, "/api/milestones/html", http.StatusFound)
		case "headers":
			w.Header().Set("X", strings.Repeat("x", 128<<10))
		}
	}))
	t.Cleanup(hub.Close)
	t.Cleanup(func() { close(release) })
	c := taskhub.New(taskhub.Options{Address: func() (string, string) { return hub.URL, "session=" + secret }, Timeout: 3 * time.Second})
	for path, text := range map[string]string{
		"never": "no answer within 3s", "slowly": "no answer within 3s", "cut": "no answer: ", "gone": "no answer: ", "long": "its answer is too long: more than 1048576 bytes",
		"html": "its answer is not JSON", "two": "its answer is not JSON", "away": "it redirects to another server", "round": "it redirects to another server",
		"changed": "it redirects to another server", "headers": "no answer: ",
	} {
		got, err := c.Do(t.Context(), "PUT", []string{path}, json.RawMessage(`{}`), nil)
		why := refused(t, path, err)
		unreadable := strings.HasPrefix(text, "its answer is ")
		if got != nil || why.Status != 0 || !strings.HasPrefix(why.Text, text) || !why.Temporary() || why.Unwrap() == nil || why.Unreadable() != unreadable {
			t.Errorf("%s: %s, %+v, unreadable %t, want %q", path, got, *why, why.Unreadable(), text)
		}
	}
	for _, address := range []string{"http://127.0.0.1:1", "file:///etc/passwd", "gopher://127.0.0.1", "http://", "::", "localhost:3102"} {
		c := taskhub.New(taskhub.Options{Address: func() (string, string) { return address, "session=" + secret }})
		_, err := c.Do(t.Context(), "GET", nil, nil, nil)
		if why := refused(t, address, err); why.Status != 0 || why.Text == "" || !why.Temporary() {
			t.Errorf("%s: %+v", address, *why)
		}
	}
}

// A redirect on Task-Hub's host is followed, and keeps method and body.
func TestARedirectAtHome(t *testing.T) {
	t.Parallel()
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/milestones/old" {
			http.Redirect(w, r, "/api/milestones/new", http.StatusPermanentRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"asked":%q,"cookie":%q,"body":%q}`, r.Method+" "+r.URL.Path, r.Header.Get("Cookie"), body)
	})
	got, err := c.Do(t.Context(), "PUT", []string{"old"}, json.RawMessage(`{"a":1}`), nil)
	if want := `{"asked":"PUT /api/milestones/new","cookie":"session=hunter2hunter2","body":"{\"a\":1}"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// A cancelled request returns an error that says so, soon.
func TestNoOneWaits(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	c := asking(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := c.Do(ctx, "GET", nil, nil, nil)
	if why := refused(t, "cancelled", err); !errors.Is(err, context.Canceled) || why.Text != "the request was cancelled" {
		t.Errorf("%+v", *why)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err = c.Do(ctx, "GET", nil, nil, nil)
	if why := refused(t, "late", err); !errors.Is(err, context.DeadlineExceeded) || why.Text != "no answer in time" || !why.Temporary() {
		t.Errorf("%+v", *why)
	}
}

// Ask returns any answer unchanged, errors too, but nothing that is incomplete.
func TestAskPassesOn(t *testing.T) {
	t.Parallel()
	c := asking(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/milestones/long" {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(make([]byte, 2<<20))
			return
		}
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, " <"+r.URL.RawQuery+"> \n")
	})
	got, err := c.Ask(t.Context(), taskhub.Request{Method: "GET", Query: "a=%2F&b"})
	if err != nil || got.Status != http.StatusTeapot || string(got.Body) != " <a=%2F&b> \n" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = c.Ask(t.Context(), taskhub.Request{Method: "GET", Segments: []string{"long"}})
	if why := refused(t, "long", err); why.Status != 0 {
		t.Errorf("%+v", *why)
	}
}

// Whatever an id contains, only paths below the milestones are requested, and the id arrives unchanged.
func TestNoIDEscapes(t *testing.T) {
	t.Parallel()
	var path string
	c := asking(t, func(_ http.ResponseWriter, r *http.Request) { path = r.URL.EscapedPath() })
	for _, id := range []string{"", ".", "..", "...", "a/b", "../admin", `a\b`, "%2e%2e", "a%", "a\x00", "a\nb", "\u0085"} {
		_, err := c.Do(t.Context(), "GET", []string{"m1", "items", id}, nil, nil)
		why := refused(t, id, err)
		if taskhub.ValidSegment(id) || why.Status != 0 || why.Temporary() || path != "" {
			t.Errorf("%q: asked for %q, %+v", id, path, *why)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./%\\?#;:@&=+ a-z]{1,8}`)).Draw(rt, "id")
		path = ""
		_, err := c.Do(t.Context(), "GET", []string{id, "items"}, nil, nil)
		if !taskhub.ValidSegment(id) {
			if err == nil || path != "" {
				rt.Fatalf("%q is invalid, but was requested: %q, %v", id, path, err)
			}
			return
		}
		segments := strings.Split(strings.TrimPrefix(path, "/api/milestones/"), "/")
		if err != nil || len(segments) != 2 || segments[1] != "items" {
			rt.Fatalf("%q was requested as %q, %v", id, path, err)
		}
		if got, err := url.PathUnescape(segments[0]); err != nil || got != id {
			rt.Fatalf("%q arrived as %q, %v", id, got, err)
		}
	})
}
