package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/playback"
)

// Where another gateway kept tasks, the log does not say how they stood: that is refused, and not answered with nothing.
func TestPlayedRangeRefusesWhatFilesOfAnotherGatewaySaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fill   func(*sqlite.DB)
		status int
	}{
		"another gateway": {func(log *sqlite.DB) {
			if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "task/t1", Events: []eventstore.NewEvent{
				{Type: coordination.TypeTaskStarted, AgentID: "eden", Actor: eventstore.ActorImport, Data: []byte(`{"taskId":"t1"}`)},
			}}); err != nil {
				t.Fatal(err)
			}
		}, http.StatusBadRequest},
		"our own": {func(log *sqlite.DB) { projectiontest.Tell(t, log, 1_790_000_000_000).Team() }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			c.fill(log)
			playing, err := playback.Open(t.Context(), playback.Options{Log: log, Dir: t.TempDir(), Rules: coordination.RulesV2, From: 1, To: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer playing.Close()
			if err := playing.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			p := &process{stdout: t.Output(), stderr: t.Output(), now: time.Now}
			api := p.pastAPI(playing, nil, coordination.RulesV2, nil).Handler()
			for _, path := range []string{"/api/agents", "/api/approvals", "/api/team-state"} {
				answer := httptest.NewRecorder()
				api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
				body := answer.Body.String()
				if refused := strings.Contains(body, `"as_of_not_supported"`); answer.Code != c.status || refused != (c.status == http.StatusBadRequest) {
					t.Errorf("%s: %d %.200s; want %d", path, answer.Code, body, c.status)
				}
			}
		})
	}
}
