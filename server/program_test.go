package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/server/settings"
)

// testProgram returns a program that has not run, on a state directory of its own with an empty database.
func testProgram(t *testing.T) (p *Program, ready <-chan net.Addr) {
	t.Helper()
	p, ready = newProgram(t.TempDir())
	projectiontest.Copy(t, p.opts.DB, database.Projections(coordination.RulesV2)...)
	return p, ready
}

// newProgram returns a program that has not run. It makes its database unless there is one in dir.
func newProgram(dir string) (p *Program, ready <-chan net.Addr) {
	addresses := make(chan net.Addr, 1)
	return New(Options{
		StateDir: dir, DB: filepath.Join(dir, database.Name), Durability: sqlite.DurabilityRelaxed, API: "127.0.0.1:0", Gateway: settings.NoGateway, Rules: coordination.RulesV2,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), Ready: func(api, _ net.Addr) { addresses <- api },
	}), addresses
}

// longest is how long a program may take to begin or to end, some ten times what its own bounds allow.
const longest = testscale.Patience

// waitFor takes what comes of something that does not take for ever. If it does, everything that goes on is shown.
func waitFor[T any](t testing.TB, what string, from <-chan T) (came T) {
	t.Helper()
	late := time.NewTimer(longest)
	defer late.Stop()
	select {
	case came = <-from:
	case <-late.C:
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s: nothing after %s\n%s", what, longest, stacks[:runtime.Stack(stacks, true)])
	}
	return came
}

// starts runs a program until the test ends, and returns where its API is, once it answers. stop ends it before, and returns why it has.
func starts(t *testing.T, p *Program, ready <-chan net.Addr) (api net.Addr, stop func() error) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		end()
		return errors.Join(waitFor(t, "Run", ended), p.Close())
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case api = <-ready:
	case err := <-ended:
		ended <- nil
		t.Fatalf("ended before it was ready: %v", err)
	}
	return api, stop
}

func TestProgramServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	p, ready := newProgram(t.TempDir())
	api, stop := starts(t, p, ready)
	response, err := http.Get("http://" + api.String() + "/api/health")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %v", response.Status, body, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestProgramMayBeClosedWithoutRunning(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestProgramToldToEndAtOnceDoes(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := errors.Join(p.Run(ctx), p.Close()); err != nil {
		t.Error(err)
	}
}

func TestProgramIsAloneOnItsDatabase(t *testing.T) {
	t.Parallel()
	first, ready := testProgram(t)
	_, stop := starts(t, first, ready)
	second := New(first.opts)
	err := second.Run(t.Context())
	var locked *eventstore.LockedError
	if !errors.As(err, &locked) {
		t.Errorf("second server: %v", err)
	}
	if err := errors.Join(second.Close(), stop()); err != nil {
		t.Error(err)
	}
}

// A log above the bounds is imported, and tables are rebuilt, while the API answers; both end up the same.
func TestProgramCatchesUpWhileServing(t *testing.T) {
	t.Parallel()
	const events = 300
	p, ready := testProgram(t)
	p.limits = limits{importFirstBytes: 1, rebuildFirstEvents: 1}
	logs := filepath.Join(p.opts.StateDir, "logs")
	var lines strings.Builder
	for i := range events {
		fmt.Fprintf(&lines, `{"type":"a2a.send","agentId":"eden","ts":%d,"data":{"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_%d"}}`+"\n", 1771588800000+i, i%7)
	}
	if err := errors.Join(os.Mkdir(logs, 0o700), os.WriteFile(filepath.Join(logs, "coordination-events.ndjson"), []byte(lines.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, rules := range []coordination.Rules{coordination.RulesV2, coordination.RulesV1} {
		p.opts.Rules = rules
		_, stop := starts(t, p, ready)
		waitFor(t, "catching up", p.caughtUp)
		list, err := database.Statuses(t.Context(), p.log)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			classified := !slices.Contains([]string{"session", "run", "work", "a2a", "task", "continuation", "plan", "response", "routing", "schedule", "permission"}, s.Name) // those that no rules make
			if s.State != "live" || s.Seq != events || classified && !strings.HasSuffix(s.Version, string(rules)) {
				t.Errorf("under %s: %+v", rules, s)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		next := New(p.opts)
		next.limits = p.limits
		p = next
	}
}
