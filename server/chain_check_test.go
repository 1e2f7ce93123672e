package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// answerOf gets a path of the API.
func answerOf(t *testing.T, api net.Addr, path string) (code int, body string) {
	t.Helper()
	response, err := http.Get("http://" + api.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// checked waits until a check has come to an end.
func checked(t *testing.T, p *Program) chainState {
	t.Helper()
	end := time.Now().Add(longest)
	for tick := time.NewTicker(5 * time.Millisecond); time.Now().Before(end); <-tick.C {
		if s := p.chain.State(); s.Last != nil && !s.Running {
			return s
		}
	}
	t.Fatal("no check of the chain came to an end")
	return chainState{}
}

// hasHistory gives a program that has not run something to import.
func hasHistory(t *testing.T, p *Program) {
	t.Helper()
	live := filepath.Join(p.opts.StateDir, "logs", "coordination-events.ndjson")
	line := `{"type":"a2a.send","agentId":"eden","ts":1771588800000,"data":{"fromAgent":"eden","message":"zero"}}` + "\n"
	if err := errors.Join(os.Mkdir(filepath.Dir(live), 0o700), os.WriteFile(live, []byte(line), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// verifying is a program on the state directory of another one, which checks after settle, by a clock of the test's.
func verifying(p *Program, clock *atomic.Int64, settle time.Duration) *Program {
	p = New(p.opts)
	p.opts.Verify = 24 * time.Hour
	p.opts.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	p.limits.chainSettle = settle
	return p
}

// The chain is verified while the program serves, and the result is in readiness, status and metrics, also after a restart.
func TestProgramChecksTheChain(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	hasHistory(t, p)
	var clock atomic.Int64
	clock.Store(time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
	p = verifying(p, &clock, 0)
	api, stop := starts(t, p, ready)
	waitFor(t, "catching up", p.caughtUp)
	state := checked(t, p)
	if state.Last.Error != "" {
		t.Fatalf("the check has found %s", state.Last.Error)
	}
	if code, body := answerOf(t, api, "/readyz"); code != http.StatusOK || strings.Contains(body, "chain_") {
		t.Errorf("readyz of a log that holds: %d %s", code, body)
	}
	_, metrics := answerOf(t, api, "/metrics")
	for _, line := range []string{
		fmt.Sprintf("openclawd_chain_verified_seq %d", state.Last.Seq), "openclawd_chain_verified_ok 1", "openclawd_chain_verified_timestamp_seconds 1.7715888e+09",
		"openclawd_chain_verified_duration_seconds ",
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("metrics say nothing of %s", line)
		}
	}
	clock.Add((49 * time.Hour).Milliseconds())
	if code, body := answerOf(t, api, "/readyz"); code != http.StatusOK || !strings.Contains(body, `"chain_overdue"`) || !strings.Contains(body, `"degraded"`) {
		t.Errorf("readyz two pauses later: %d %s, want the warning chain_overdue", code, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	forge(t, p.opts.DB)
	p = verifying(p, &clock, time.Hour) // what was noted counts until the next check
	_, stop = starts(t, p, ready)
	if s := p.chain.State(); s.Last == nil || s.Last.Error != "" || !s.Next.IsZero() && s.Next.Sub(p.opts.Now()) < time.Minute {
		t.Errorf("after a restart the newest check is %+v, want the one before it", s.Last)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	p = verifying(p, &clock, 0)
	api, stop = starts(t, p, ready)
	waitFor(t, "catching up", p.caughtUp)
	end := time.Now().Add(longest)
	for tick := time.NewTicker(5 * time.Millisecond); p.chain.State().Last.Error == "" && time.Now().Before(end); {
		<-tick.C
	}
	broken(t, api)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	p = verifying(p, &clock, time.Hour)
	api, stop = starts(t, p, ready)
	broken(t, api) // not checked since
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// broken says that the program has found what was forged.
func broken(t *testing.T, api net.Addr) {
	t.Helper()
	code, body := answerOf(t, api, "/readyz")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, `"chain_broken"`) || !strings.Contains(body, "payload differs from the one appended") {
		t.Errorf("readyz of a log that was forged: %d %s, want the error chain_broken", code, body)
	}
	if _, metrics := answerOf(t, api, "/metrics"); !strings.Contains(metrics, "\nopenclawd_chain_verified_ok 0\n") {
		t.Error("metrics do not say that the log does not hold")
	}
	_, body = answerOf(t, api, "/api/status")
	var status monitor.Status
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		t.Fatal(err)
	}
	if c := status.Chain; c == nil || c.OK == nil || *c.OK || c.Broken == "" || c.Every != "24h0m0s" {
		t.Errorf("status says of the chain %+v, want that it is broken", c)
	}
}

// forge changes a payload as another program might.
func forge(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, drop := db.Exec("DROP TRIGGER events_are_only_blanked")
	_, change := db.Exec(`UPDATE events SET data = '{"message":"two"}' WHERE type = 'a2a.send'`)
	if err := errors.Join(drop, change, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// The verification result of one log does not apply to another one in its place.
func TestCheckOfAnotherLogDoesNotCount(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	hasHistory(t, p)
	var clock atomic.Int64
	clock.Store(time.Now().UnixMilli())
	p = verifying(p, &clock, 0)
	_, stop := starts(t, p, ready)
	if state := checked(t, p); state.Last.Head == 0 {
		t.Fatalf("the log has nothing to be told by: %+v", state.Last)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm", ".import.json"} {
		if err := os.Remove(p.opts.DB + end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(database.CheckFile(p.opts.DB)); err != nil {
		t.Fatal(err)
	}
	p = verifying(p, &clock, time.Hour)
	api, _ := starts(t, p, ready)
	if s := p.chain.State(); s.Last != nil {
		t.Errorf("of a new log the newest check is %+v, want none", s.Last)
	}
	if _, metrics := answerOf(t, api, "/metrics"); strings.Contains(metrics, "openclawd_chain_verified") {
		t.Error("metrics speak of a check that there never was")
	}
}

func TestChainIsNotCheckedWhenOff(t *testing.T) {
	t.Parallel()
	c := &chainCheck{now: time.Now, rest: func(context.Context, time.Duration) error {
		t.Error("it waits for a check")
		return context.Canceled
	}}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.run(ctx); err != nil {
		t.Error(err)
	}
	if s := c.State(); s.overdue(time.Now().Add(1000 * time.Hour)) {
		t.Error("a check that is off is overdue")
	}
}

// A check rests between two pages for longer than they took, so that it does not block others.
func TestChainCheckRests(t *testing.T) {
	t.Parallel()
	const events = 2_500
	path := t.TempDir() + "/log.db"
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	a := eventstore.StreamAppend{Stream: "s"}
	for range events {
		a.Events = append(a.Events, eventstore.NewEvent{Type: "x", AgentID: "eden", Data: []byte(`{}`)})
	}
	if _, err := log.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	rests := 0
	c := &chainCheck{log: log, now: time.Now, logger: slog.New(slog.DiscardHandler), rest: func(_ context.Context, d time.Duration) error {
		rests++
		if d <= 0 || d > time.Second {
			t.Errorf("it rests for %s", d)
		}
		one := eventstore.StreamAppend{Stream: "t", Events: []eventstore.NewEvent{{Type: "x", AgentID: "eden", Data: []byte(`{}`)}}}
		if _, err := log.Append(context.Background(), one); err != nil {
			t.Error(err)
		}
		return nil
	}}
	if err := c.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := c.State().Last; rests != 3 || last.Seq < events || last.Error != "" {
		t.Errorf("it rested %d times and found %+v, want 3 rests for %d events", rests, last, events)
	}
}
