package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

func TestSupervisorIsToldHowTheProgramGoes(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	told, reload := make(chan string, 1000), make(chan os.Signal, 1)
	p.opts.Reload = reload
	p.notifier.Supervisor = Supervisor{Tell: func(state string) error { told <- state; return nil }, Watchdog: 20 * time.Millisecond}
	api, stop := starts(t, p, ready)
	next := func(begin string) string {
		t.Helper()
		for {
			if state := waitFor(t, begin, told); strings.HasPrefix(state, begin) {
				return state
			}
		}
	}
	for _, first := range []string{"STATUS=opening the log", "STATUS=updating tables and logs"} {
		if state := waitFor(t, first, told); state != first {
			t.Fatalf("told %q, want %q", state, first)
		}
	}
	if state, want := waitFor(t, "ready", told), "READY=1\nSTATUS=ok: API on "+api.String()+", 0 events"; state != want {
		t.Fatalf("told %q, want %q", state, want)
	}
	next("WATCHDOG=1")
	next("STATUS=ok: ")
	reload <- syscall.SIGHUP
	if state := next("RELOADING=1"); !strings.HasPrefix(state, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(state, "=") {
		t.Errorf("told %q, want when it began to reload", state)
	}
	if state := next("READY=1"); state != "READY=1" {
		t.Errorf("told %q after reloading, want READY=1", state)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if state := next("STOPPING=1"); !strings.Contains(state, "\nSTATUS=stopping") {
		t.Errorf("told %q at the end, want why", state)
	}
	if len(told) > 0 {
		t.Errorf("told %q after the end, want nothing", <-told)
	}
}

// The watchdog is notified twice per period, except when a restart would help.
func TestWatchdogIsAnsweredWhileNothingHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		n := &supervised{Supervisor{Tell: func(state string) error { told = append(told, state); return nil }, Watchdog: time.Minute}, slog.New(slog.DiscardHandler)}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		var why atomic.Pointer[string]
		hangs := func(what string) { why.Store(&what) }
		hangs("")
		go func() {
			defer close(ended)
			n.run(ctx, func() string { return *why.Load() }, func(context.Context) string { return "fine" })
		}()
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		pass(61 * time.Second)
		hangs("a write")
		pass(30 * time.Second)
		hangs("")
		pass(30 * time.Second)
		end()
		<-ended
		want := []string{"READY=1\nSTATUS=fine", "WATCHDOG=1", "STATUS=fine", "WATCHDOG=1", "STATUS=fine", "STATUS=hung: a write", "WATCHDOG=1", "STATUS=fine",
			"STOPPING=1\nSTATUS=stopping: waiting for requests and runs to finish"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told, -want +got:\n%s", diff)
		}
	})
}

// Without a listener a notification costs nothing and ends nothing.
func TestProgramServesWithoutASupervisor(t *testing.T) {
	t.Parallel()
	unsupervised := &supervised{logger: slog.New(slog.DiscardHandler)}
	unsupervised.starting("x")
	unsupervised.reloading()
	unsupervised.run(t.Context(), nil, nil)
	deaf := &supervised{Supervisor{Tell: func(string) error { return errors.New("gone") }}, slog.New(slog.DiscardHandler)}
	ctx, end := context.WithCancel(t.Context())
	end()
	deaf.run(ctx, nil, func(context.Context) string { return "fine" })
	if deaf.interval() != statusEvery {
		t.Errorf("without a watchdog it is told every %s, want %s", deaf.interval(), statusEvery)
	}
	none, err := SupervisorOfProcess(func(string) string { return "" })
	if err != nil || none.Tell != nil || none.Watchdog != 0 {
		t.Errorf("%+v, %v, want none", none, err)
	}
}

func TestWhatHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gauges sqlite.Gauges
		want   string
	}{
		"nothing is written": {},
		"a long append":      {sqlite.Gauges{Writing: stalledAfter}, ""},
		"an endless append":  {sqlite.Gauges{Writing: stalledAfter + time.Second}, "a write transaction has been running for 31s"},
		"maintenance":        {sqlite.Gauges{Writing: time.Hour, Maintaining: true}, ""},
	} {
		if got := hung(c.gauges); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestStatusIsOneShortLine(t *testing.T) {
	t.Parallel()
	reasons := make([]health.Reason, 0, 8)
	for _, code := range []string{"a", "b", "a", "c", "d", "e", "f", "g"} {
		reasons = append(reasons, health.Reason{Code: health.Code(code)})
	}
	if got, want := codesOf(reasons), " (a, b, c, d, e, 2 more)"; got != want {
		t.Errorf("codes %q, want %q", got, want)
	}
	if got := codesOf(nil); got != "" {
		t.Errorf("codes of none %q, want nothing", got)
	}
	long := status(strings.Repeat("가", maxStatus) + "\nX=1")
	if n := len([]rune(long)); n != maxStatus+len("STATUS=") || strings.Contains(long, "\n") {
		t.Errorf("%d runes, want a line of %d", n, maxStatus+len("STATUS="))
	}
	if got, want := status("one\nREADY=1"), "STATUS=one READY=1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
