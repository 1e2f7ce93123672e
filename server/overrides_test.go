package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/services/overrides"
)

// An operator's override over HTTP is in the file, an edit of the file is in the answers, and both survive restarts, whichever gateway
// produces.
func TestProgramKeepsTheFileOfOverrides(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{true, false} {
		p, ready := testProgram(t)
		p.opts.Follow = follow
		path := filepath.Join(p.opts.StateDir, overrides.Name)
		if err := os.WriteFile(path, []byte(`{"ws_before":{"collabCategory":"docs_knowledge","updatedAt":"2026-01-02T03:04:05.678Z"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		ended, stop := runProgram(t, p)
		url := "http://" + api(t, ready, ended)
		until(t, "the file is read", func() bool {
			return strings.Contains(request(t, "GET", url+"/api/work-sessions/ws_before/category", ""), `"updatedAt":"2026-01-02T03:04:05.678Z"`)
		})
		_, err := p.log.Append(t.Context(), eventstore.StreamAppend{Stream: "conversation/c", Events: []eventstore.NewEvent{
			{Type: coordination.TypeA2ASend, AgentID: "eden", Data: json.RawMessage(`{"toAgent":"seum","message":"x","workSessionId":"ws/1"}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		said := request(t, "PATCH", url+"/api/work-sessions/ws%2F1/category", `{"collabCategory":"biz_strategy","updatedBy":"ops"}`)
		if !strings.Contains(said, `"workSessionId":"ws/1"`) {
			t.Fatalf("PATCH answers %s", said)
		}
		until(t, "the file is written", func() bool { return strings.Contains(content(t, path), `"ws/1": {`) })
		edited := strings.ReplaceAll(content(t, path), "biz_strategy", "qa_validation")
		if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, "the edit is read", func() bool {
			return strings.Contains(request(t, "GET", url+"/api/work-sessions/ws%2F1/category", ""), `"override":{"collabCategory":"qa_validation"`)
		})
		request(t, "DELETE", url+"/api/work-sessions/ws_before/category", "")
		until(t, "what was taken back has gone", func() bool { return !strings.Contains(content(t, path), "ws_before") })
		stop()
		if err := errors.Join(waitFor(t, "Run", ended), p.Close()); err != nil {
			t.Fatal(err)
		}

		before := content(t, path)
		again := New(p.opts)
		ended, stop = runProgram(t, again)
		url = "http://" + api(t, ready, ended)
		if got := request(t, "GET", url+"/api/work-sessions/ws%2F1/category", ""); !strings.Contains(got, `"override":{"collabCategory":"qa_validation"`) {
			t.Errorf("after a restart: %s", got)
		}
		stop()
		if err := errors.Join(waitFor(t, "Run", ended), again.Close()); err != nil {
			t.Fatal(err)
		}
		if after := content(t, path); after != before {
			t.Errorf("a restart made the file\n%s\nof\n%s", after, before)
		}
	}
}

func runProgram(t *testing.T, p *Program) (ended <-chan error, stop context.CancelFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- p.Run(ctx) }()
	return end, stop
}

func api(t *testing.T, ready <-chan net.Addr, ended <-chan error) string {
	t.Helper()
	select {
	case address := <-ready:
		return address.String()
	case err := <-ended:
		t.Fatalf("ended before it was ready: %v", err)
		return ""
	}
}

// until asks again and again, at the pace of a ticker, for what is to come true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	end := time.After(testscale.Patience)
	for !done() {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("not seen: %s", what)
		}
	}
}

func request(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %s", method, url, response.Status, err, answer)
	}
	return string(answer)
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
