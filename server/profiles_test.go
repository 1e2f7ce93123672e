package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/monitor"
)

// syncBuffer is what several goroutines have written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A server gives profiles that go tool pprof reads to its administrator, and to no reader.
func TestServerGivesProfilesToAdministrators(t *testing.T) {
	t.Parallel()
	const readToken = "a-token-for-reading-only"
	p, ready := testProgram(t)
	var log syncBuffer
	opts := p.opts
	opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts.Getenv = func(name string) string {
		return map[string]string{monitor.AdminTokenVariable: sqlToken, "TASK_MONITOR_READ_TOKEN": readToken}[name]
	}
	api, _ := starts(t, New(opts), ready)
	ask := func(path, header, value string) (status int, body []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+api.String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(header, value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, body
	}
	for path, unit := range map[string]string{"/debug/pprof/profile?seconds=1": "nanoseconds", "/debug/pprof/heap": "inuse_space", "/debug/pprof/goroutine": "goroutine"} {
		if status, body := ask(path, "X-Task-Monitor-Token", readToken); status != http.StatusUnauthorized {
			t.Errorf("%s for a reader: %d %.200s", path, status, body)
		}
		status, body := ask(path, "Authorization", "Bearer "+sqlToken)
		if profile := unzipped(t, body); status != http.StatusOK || !strings.Contains(profile, unit) {
			t.Errorf("%s: %d, without %q in its %d bytes", path, status, unit, len(profile))
		}
	}
	if status, body := ask("/debug/pprof/cmdline", "X-Task-Monitor-Token", readToken); status != http.StatusUnauthorized {
		t.Errorf("the command line for a reader: %d %.200s", status, body)
	}
	if text := log.String(); !strings.Contains(text, "msg=profile") || strings.Contains(text, sqlToken) || strings.Contains(text, readToken) {
		t.Errorf("the log names no profile, or a token:\n%s", text)
	}
}

func unzipped(t *testing.T, body []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Errorf("not a profile: %v in %.200q", err, body)
		return ""
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("not a whole profile: %v", err)
	}
	return string(text)
}
