package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
)

// answering is a server that answers calls of append with a status and what is in the place of a result.
func answering(t *testing.T, status int, rest string) (url string, calls *atomic.Int64) {
	inner := mcptest.Handler("Authorization", "")
	calls = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var asked struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(body, &asked) != nil || asked.Method != "tools/call" || asked.Params.Name != "append" {
			r.Body = io.NopCloser(bytes.NewReader(body))
			inner.ServeHTTP(w, r)
			return
		}
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, rest)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

// An answer harms its call alone, however odd it is, and the outcome is unknown only if the server does not say it.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		rest    string
		outcome mcp.Outcome
		starts  int64 // after another call
	}{
		"what the library does not read": {http.StatusOK, `"result":{"content":[],"inputRequests":{"x":null}}`, mcp.Unknown, 1},
		"resource not found":             {http.StatusOK, `"error":{"code":-32002,"message":"no such resource"}`, mcp.Failed, 1},
		"time-out of a proxy":            {http.StatusOK, `"error":{"code":-32001,"message":"Request timed out"}`, mcp.Failed, 1},
		"no such session":                {http.StatusNotFound, `"error":{"code":-32001,"message":"Session not found"}`, mcp.Unmade, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, calls := answering(t, c.status, c.rest)
			h := setup(t, func(*fixture) string { return fmt.Sprintf(`s: {url: %q}`, url) })
			out, err := h.call("s__append", `{}`)
			if outcome, _ := h.outcome.Load("s"); outcome != c.outcome || calls.Load() != 1 {
				t.Errorf("the outcome of %d calls is %v: %+v, %v", calls.Load(), outcome, out, err)
			}
			if strings.Contains(c.rest, "Session") {
				h.until("the session is given up", func() bool { return h.state("s").State != mcp.StateReady })
			}
			h.says("s__echo", `{"text": "here"}`, "here")
			if s := h.state("s"); s.Starts != c.starts {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A server that refers to itself again and again is not asked for ever.
func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	asked := atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	h := setup(t, func(*fixture) string { return fmt.Sprintf(`s: {url: %q}`, s.URL) })
	h.offered(eden())
	h.until("it is down", func() bool { return h.state("s").State == mcp.StateDown })
	if problem := h.state("s").Error; !strings.Contains(problem, "more than 10 times") || asked.Load() > 60 {
		t.Errorf("%s; it was asked %d times", problem, asked.Load())
	}
}
