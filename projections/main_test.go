package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	testscale.Checks(1, 10)
	storetest.CrashMain(m, projecting, rebuilding)
}

const rules = coordination.RulesV2

// epoch is when the clocks of these tests start.
const epoch = 1_790_000_000_000

// definitions are those of the program.
func definitions() []projections.Definition {
	return []projections.Definition{
		conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(), tasks.Definition(),
		continuations.Definition(), schedules.Definition(), permissions.Definition(), plans.Definition(), routing.Definition(), responses.Definition(),
		index.Definition(rules), conversations.Definition(rules),
	}
}

// ticking is a clock that goes on by a millisecond with every look at it, as a real one may between any two steps.
type ticking struct {
	mu sync.Mutex
	ms int64
}

func (c *ticking) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms++
	return time.UnixMilli(epoch + c.ms)
}

// bundle is a log with its projections.
type bundle struct {
	*sqlite.DB
	engine *projections.Engine
	defs   []projections.Definition
	path   string
	now    func() time.Time
	logger *slog.Logger // of the engine; nil: none
}

func setup(t testing.TB, defs ...projections.Definition) *bundle {
	t.Helper()
	b := setupAt(t, filepath.Join(t.TempDir(), "log.db"), defs...)
	t.Cleanup(func() { b.close(t) })
	return b
}

// setupAt opens a log that the caller must close.
func setupAt(t testing.TB, path string, defs ...projections.Definition) *bundle {
	t.Helper()
	b := &bundle{path: path, defs: defs, now: new(ticking).now}
	b.open(t, sqlite.Options{})
	return b
}

func (b *bundle) open(t testing.TB, opts sqlite.Options) {
	t.Helper()
	opts.Path, opts.Now = b.path, b.now
	opts.Durability = sqlite.DurabilityRelaxed // these tests do not pull the plug
	var err error
	if b.DB, err = sqlite.Open(t.Context(), opts); err != nil {
		t.Fatalf("open: %v", err)
	}
	if b.engine, err = projections.Start(t.Context(), b.DB, b.defs, projections.Options{Rules: rules, Now: b.now, Logger: b.logger}); err != nil {
		t.Fatalf("start projections: %v", errors.Join(err, b.DB.Close()))
	}
}

func (b *bundle) close(t testing.TB) {
	t.Helper()
	if err := b.DB.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// reopen restarts everything, with other definitions if any are given.
func (b *bundle) reopen(t testing.TB, defs ...projections.Definition) {
	t.Helper()
	b.close(t)
	if len(defs) > 0 {
		b.defs = defs
	}
	b.open(t, sqlite.Options{})
}

func (b *bundle) append(t testing.TB, events ...eventstore.NewEvent) eventstore.Result {
	t.Helper()
	result, err := b.DB.Append(t.Context(), to(events...))
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return result
}

func (b *bundle) rebuild(t testing.TB, opts projections.RebuildOptions) {
	t.Helper()
	if err := b.engine.Rebuild(t.Context(), opts); err != nil {
		t.Fatalf("rebuild: %v", err)
	}
}

func (b *bundle) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, b, b.defs...)
}

// statuses are those of the projections, by name.
func (b *bundle) statuses(t testing.TB) map[string]projections.Status {
	t.Helper()
	return statusesOf(t, b)
}

func to(events ...eventstore.NewEvent) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: "log", Events: events}
}

// event makes an event that says when it happened.
func event(typ string, ms int64, data map[string]any) eventstore.NewEvent {
	if data == nil {
		data = map[string]any{}
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return eventstore.NewEvent{Type: typ, AgentID: "main", Data: text}.WithTS(epoch + ms)
}

// wantAs returns err as an E, or fails t.
func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var target E
	if !errors.As(err, &target) {
		t.Fatalf("error is %T (%v), want %T", err, err, target)
	}
	return target
}

// wantSame compares two dumps.
func wantSame(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// replayed folds the log of b again, offline, in a copy of the file, and returns the tables.
func (b *bundle) replayed(t testing.TB) []string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "replayed.db")
	if err := b.Backup(context.WithoutCancel(t.Context()), target); err != nil {
		t.Fatalf("copy: %v", err)
	}
	other := setupAt(t, target, b.defs...)
	defer other.close(t)
	other.rebuild(t, projections.RebuildOptions{})
	return other.dump(t)
}
