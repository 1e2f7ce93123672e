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
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// testProgram is a program that has not run, on a state directory of its own.
func testProgram(t *testing.T) (p *Program, ready <-chan net.Addr) {
	t.Helper()
	addresses := make(chan net.Addr, 1)
	dir := t.TempDir()
	return New(Options{
		StateDir: dir, DB: filepath.Join(dir, database.Name), API: "127.0.0.1:0", Rules: coordination.RulesV2, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Ready: func(api net.Addr) { addresses <- api },
	}), addresses
}

func TestProgramServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	select {
	case api := <-ready:
		response, err := http.Get("http://" + api.String() + "/api/health")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %v", response.Status, body, err)
		}
	case err := <-ended:
		t.Fatalf("ended before it was ready: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
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
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- first.Run(ctx) }()
	<-ready
	second := New(first.opts)
	err := second.Run(t.Context())
	var locked *eventstore.LockedError
	if !errors.As(err, &locked) {
		t.Errorf("second server: %v", err)
	}
	stop()
	if err := errors.Join(second.Close(), <-ended, first.Close()); err != nil {
		t.Error(err)
	}
}

// A log above the bounds is imported, and tables are rebuilt, while the API answers; both are the same in the end.
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
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		<-ready
		<-p.caughtUp
		list, err := database.Statuses(ctx, p.log)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.State != "live" || s.Seq != events || !strings.HasSuffix(s.Version, string(rules)) {
				t.Errorf("under %s: %+v", rules, s)
			}
		}
		stop()
		if err := errors.Join(<-ended, p.Close()); err != nil {
			t.Fatal(err)
		}
		next := New(p.opts)
		next.limits = p.limits
		p = next
	}
}
