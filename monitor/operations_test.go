package monitor_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/monitor"
)

// Reasons of the surrounding program are passed on unchanged; an error makes it unready, a warning does not, and all
// are listed.
func TestReadinessSaysWhyNot(t *testing.T) {
	t.Parallel()
	var reasons []health.Reason
	b := setup(t, func(o *monitor.Options) {
		o.Operations.Reasons = func(context.Context) []health.Reason { return reasons }
		o.Operations.Running = func(context.Context) health.Running {
			return health.Running{Mode: "produce", StartedAt: noon, Gateway: &health.GatewayState{Address: "127.0.0.1:18789", Auth: "token", Clients: 2,
				Requests: 3, Errors: 4, Refused: 5, SlowCloses: 6, Error: "stopped unexpectedly"}}
		}
		o.Operations.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "openclawd_up 1")
		})
	})
	type readiness struct {
		Status  string
		Reasons []health.Reason
	}
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/readyz", http.StatusOK)
	contract.check(t, http.MethodGet, "/metrics", http.StatusOK)
	warning := health.Reason{Severity: health.SeverityWarning, Code: "disk_low", What: "3 bytes are free", Hint: "free space"}
	reasons = []health.Reason{warning}
	contract.check(t, http.MethodGet, "/readyz", http.StatusOK)
	if diff := cmp.Diff(readiness{"degraded", reasons}, get[readiness](t, b, "/readyz", http.StatusOK)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	reasons = []health.Reason{warning, {Severity: health.SeverityError, Code: "importing", What: "logs are being imported", Hint: "wait"}}
	contract.check(t, http.MethodGet, "/readyz", http.StatusServiceUnavailable)
	contract.check(t, http.MethodGet, "/api/status", http.StatusOK)
	if diff := cmp.Diff(readiness{"unready", reasons}, get[readiness](t, b, "/readyz", http.StatusServiceUnavailable)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := get[map[string]string](t, b, "/healthz", http.StatusOK); got["status"] != "ok" {
		t.Errorf("healthz: %v", got)
	}
	status := get[monitor.Status](t, b, "/api/status", http.StatusOK)
	if status.Status != "degraded" || status.Mode != "produce" || status.Gateway == nil || status.Gateway.Clients != 2 || !status.StartedAt.Equal(noon) || len(status.Reasons) != 2 {
		t.Errorf("%+v", status)
	}
}

// A foreign page must not read operators' answers by its own host name.
func TestOperationsCheckTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/status"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "evil.example"
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("GET %s for another host: %s", path, response.Status)
		}
	}
}

// The one-screen status counts what is going on, and names what is in trouble, the newest first.
// DB-33: in the original, one slow question holds up all the others.
func TestSlowQuestionsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	started, release := make(chan struct{}), make(chan struct{})
	var slow sync.WaitGroup
	for range 3 {
		slow.Go(func() {
			if err := b.db.View(context.Background(), func(tx *sql.Tx) error {
				var n int
				err := tx.QueryRow("SELECT count(*) FROM events").Scan(&n)
				started <- struct{}{}
				<-release
				return err
			}); err != nil {
				t.Error(err)
			}
		})
		<-started
	}
	for _, path := range []string{"/healthz", "/readyz", "/api/health", "/api/events", "/api/work-sessions"} {
		get[map[string]any](t, b, path, http.StatusOK)
	}
	b.say(t, http.MethodPatch, "ws_a", categoryBody)
	close(release)
	slow.Wait()
}

func TestStatusCountsAndNamesTrouble(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pair := func(ws, id, more string) string {
		return fmt.Sprintf(`"fromAgent":"main","toAgent":"루다","workSessionId":%q,"conversationId":%q%s`, ws, id, more)
	}
	const days = -3 * 24 * 60
	var lines []string
	for i := range 7 {
		lines = append(lines, event("a2a.complete", "main", float64(i-100), pair(fmt.Sprint("ws_", i), fmt.Sprint("c", i), `,"outcome":"blocked","message":"[outcome] blocked: 한도"`)))
	}
	lines = append(lines,
		event("a2a.send", "main", -5, pair("ws_open", "open", "")),
		event("a2a.complete", "main", -4, pair("ws_done", "done", "")),
		event("a2a.send", "main", days, pair("ws_old", "old", "")))
	b.importing(t, append(lines, `{broken`)...)
	s := get[monitor.Status](t, b, "/api/status", http.StatusOK)
	if s.Sessions.Active != 1 || s.Sessions.Quiet != 8 || s.Sessions.Blocked != 7 {
		t.Errorf("sessions: %+v", s.Sessions)
	}
	if s.Events.LastDay != 9 || s.Events.LastWeek != 10 || s.Events.Total != 11 || s.BadLines != 1 ||
		s.Events.InternalLastDay != 1 || s.Events.InternalLastWeek != 1 {
		t.Errorf("events: %+v, %d bad lines", s.Events, s.BadLines)
	}
	var named []string
	for _, trouble := range s.Trouble {
		named = append(named, trouble.WorkSessionID)
	}
	if diff := cmp.Diff("ws_6 ws_5 ws_4 ws_3 ws_2", strings.Join(named, " ")); diff != "" {
		t.Errorf("trouble (-want +got):\n%s", diff)
	}
	if s.HeadAt == nil || *s.HeadAt != noon.UTC().Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("head at %v", s.HeadAt)
	}
	offline, err := b.monitor.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, *offline); diff != "" {
		t.Errorf("over HTTP and without (-http +without):\n%s", diff)
	}
}

// What the classifier had to guess is counted with the events, so that it can be watched without reading the log.
func TestHealthCountsDoubts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t,
		event("a2a.send", "stranger", 1, `"fromAgent":"stranger","toAgent":"nothing","workSessionId":"ws","eventRole":"conversation.main"`),
		event("a2a.send", "main", 2, `"fromAgent":"main","toAgent":"ruda","workSessionId":"ws","eventRole":"conversation.main","message":"배포"`),
		event("task.started", "ruda", 3, `"taskId":"t","workSessionId":"ws"`))
	b.appending(t, "run.started", `{"runId":"r"}`)
	type health struct {
		Doubts struct{ UnknownSender, UnknownReceiver, GuessedRoles, FallbackCategory int64 }
	}
	got := get[health](t, b, "/api/health", http.StatusOK).Doubts
	if got.UnknownSender != 1 || got.UnknownReceiver != 1 || got.GuessedRoles != 1 || got.FallbackCategory != 2 {
		t.Errorf("%+v", got)
	}
	type page struct {
		Events       []struct{ Seq int64 }
		TotalMatched int64
		NextCursor   *string
	}
	for doubt, seqs := range map[string][]int64{"unknown_sender": {1}, "unknown_receiver": {1}, "guessed_role": {3}, "fallback_category": {1, 3}} {
		for _, scope := range []string{"", "&scope=all"} {
			var found []int64
			first := get[page](t, b, "/api/events?doubt="+doubt+scope, http.StatusOK)
			for _, e := range first.Events {
				found = append(found, e.Seq)
			}
			if diff := cmp.Diff(seqs, found); diff != "" || first.TotalMatched != int64(len(seqs)) || first.NextCursor != nil {
				t.Errorf("%s%s: of %d (-want +got):\n%s", doubt, scope, first.TotalMatched, diff)
			}
			after := get[page](t, b, "/api/events?after=0&limit=1&doubt="+doubt+scope, http.StatusOK)
			if len(after.Events) != 1 || after.Events[0].Seq != seqs[0] {
				t.Errorf("%s%s from the beginning: %+v", doubt, scope, after)
			}
		}
	}
}
