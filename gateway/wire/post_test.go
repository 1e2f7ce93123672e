package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// posts answers at /tell with what was sent, counts, and breaks at /break.
func posts(asked *atomic.Int64) func(path string) http.Handler {
	return func(path string) http.Handler {
		switch path {
		case "/tell":
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(w, r.Body)
			})
		case "/break":
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
		}
		return nil
	}
}

// send posts a text.
func (g *gate) send(t testing.TB, path string, header http.Header, text string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.addr+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// Nothing is done for a client without the secret, in any mode; token and password are sent the same way.
func TestPostsAreForThoseWhoAreLetIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, auth, origin string
		access             wire.Access
		status             int
	}{
		{"token", "Bearer " + token, "", wire.Access{Mode: "token", Token: token}, 200},
		{"the scheme in any case", "bearer  " + token, "", wire.Access{Mode: "token", Token: token}, 200},
		{"password", "Bearer pass word", "", wire.Access{Mode: "password", Password: "pass word"}, 200},
		{"none", "", "", wire.Access{Mode: "none"}, 200},
		{"none, with something", "Bearer x", "", wire.Access{Mode: "none"}, 200},
		{"nothing", "", "", wire.Access{Mode: "token", Token: token}, 401},
		{"a wrong one", "Bearer nope", "", wire.Access{Mode: "token", Token: token}, 401},
		{"another scheme", "Basic " + token, "", wire.Access{Mode: "token", Token: token}, 401},
		{"only a beginning", "Bearer " + token[:4], "", wire.Access{Mode: "token", Token: token}, 401},
		{"the token of the other mode", "Bearer " + token, "", wire.Access{Mode: "password", Token: token, Password: "p"}, 401},
		{"none is configured", "Bearer ", "", wire.Access{Mode: "token"}, 401},
		{"a page of here", "Bearer " + token, "http://localhost:5173", wire.Access{Mode: "token", Token: token}, 200},
		{"a page of elsewhere", "Bearer " + token, "https://evil.example", wire.Access{Mode: "token", Token: token}, 403},
		{"a page of elsewhere where nothing is asked for", "", "https://evil.example", wire.Access{Mode: "none"}, 403},
		{"a page of nowhere", "", "null", wire.Access{Mode: "none"}, 403},
		{"a page that is listed", "Bearer " + token, "https://hub.example", wire.Access{Mode: "token", Token: token, Origins: []string{"https://hub.example"}}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			g := serve(t, setup{options: func(o *wire.Options) { o.Access, o.Posts = c.access, posts(&asked) }})
			header := http.Header{}
			if c.auth != "" {
				header.Set("Authorization", c.auth)
			}
			if c.origin != "" {
				header.Set("Origin", c.origin)
			}
			r, body := g.send(t, "/tell", header, "hello")
			if r.StatusCode != c.status || (asked.Load() == 1) != (c.status == 200) {
				t.Errorf("%d %s, asked %d times", r.StatusCode, body, asked.Load())
			}
			if c.status == 401 && body != `{"error":{"message":"Unauthorized","type":"unauthorized"}}`+"\n" {
				t.Errorf("%s", body)
			}
			if r.Header.Get("Access-Control-Allow-Origin") != "" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v", r.Header)
			}
		})
	}
}

// Guessing over HTTP locks out like guessing over WebSocket, and then even the right secret is refused; local programs
// are exempt.
func TestPostsAreNotForThoseWhoGuess(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	g := serve(t, setup{options: func(o *wire.Options) { o.Posts = posts(&asked) }})
	guess := http.Header{"Authorization": {"Bearer nope"}, "X-Forwarded-For": {"203.0.113.9"}}
	for range 10 {
		if r, body := g.send(t, "/tell", guess, ""); r.StatusCode != 401 {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
	}
	right := http.Header{"Authorization": {"Bearer " + token}, "X-Forwarded-For": {"203.0.113.9"}}
	r, body := g.send(t, "/tell", right, "")
	if r.StatusCode != 429 || !strings.Contains(body, `"type":"rate_limited"`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || after < 1 || after > 300 {
		t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	if r, body := g.send(t, "/tell", http.Header{"Authorization": {"Bearer " + token}}, "x"); r.StatusCode != 200 || body != "x" {
		t.Errorf("a program of this machine: %d %s", r.StatusCode, body)
	}
	g.clock.advance(6 * time.Minute)
	if r, body := g.send(t, "/tell", right, "x"); r.StatusCode != 200 {
		t.Errorf("later: %d %s", r.StatusCode, body)
	}
}

func TestPostsAreRefusedInTheRightOrder(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	g := serve(t, setup{options: func(o *wire.Options) { o.Posts = posts(&asked) }})
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS"} {
		r, body := g.do(t, method, "/tell", "", nil)
		if r.StatusCode != 405 || r.Header.Get("Allow") != "POST" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %v %s", method, r.StatusCode, r.Header, body)
		}
	}
	if r, body := g.do(t, "POST", "/tell", "evil.example", http.Header{"Authorization": {"Bearer " + token}}); r.StatusCode != 421 {
		t.Errorf("another host: %d %s", r.StatusCode, body)
	}
	if r, body := g.send(t, "/else", http.Header{}, ""); r.StatusCode != 404 {
		t.Errorf("no such path: %d %s", r.StatusCode, body)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("asked %d times", n)
	}
	if r, body := g.send(t, "/break", http.Header{"Authorization": {"Bearer " + token}}, ""); r.StatusCode != 500 || !strings.Contains(body, "internal error") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}

// Requests up to the limit are answered concurrently, others get a retry hint. A shutdown does not wait forever: it
// says so to the remaining clients.
func TestPostsAreBoundedAndEnd(t *testing.T) {
	t.Parallel()
	started, why := make(chan struct{}, 2), make(chan error, 2)
	wait := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		started <- struct{}{}
		<-r.Context().Done()
		why <- context.Cause(r.Context())
	})
	g := serve(t, setup{options: func(o *wire.Options) {
		o.Access, o.MaxPosts, o.DrainTime = wire.Access{Mode: "none"}, 1, 20*time.Millisecond
		o.Posts = func(string) http.Handler { return wait }
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.send(t, "/wait", http.Header{}, "")
	}()
	<-started
	if r, body := g.send(t, "/wait", http.Header{}, ""); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if r, body := g.do(t, "GET", "/readyz", "", nil); r.StatusCode != 200 || body != `{"ok":true,"status":"ready"}`+"\n" {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	g.stop()
	if err := <-why; !errors.Is(err, wire.ErrStopping) {
		t.Errorf("it ended with %v", err)
	}
	<-ended
	if r, body := g.send(t, "/wait", http.Header{}, ""); r.StatusCode != 503 || !strings.Contains(body, "stopping") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if r, body := g.do(t, "GET", "/ready", "", nil); r.StatusCode != 503 || !strings.Contains(body, `"ok":false`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
}
