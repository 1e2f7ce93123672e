package projections_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// faultyLog is a log whose writer can be made to fail at the end of a transaction, or to end as if it were killed.
type faultyLog struct {
	*sqlite.DB
	faults *faults
}

type faults struct {
	flush, behind atomic.Bool // the next of these fails, after all its work
	killed        atomic.Bool // read models are not written any more
}

var errFault = errors.New("the disk fails on purpose")

func (l faultyLog) Attach(ctx context.Context, inline eventstore.Inline, handover func(eventstore.Tx) error) error {
	return l.DB.Attach(ctx, faultyInline{inline, l.faults}, handover)
}

type faultyInline struct {
	eventstore.Inline
	faults *faults
}

func (i faultyInline) Flush(tx eventstore.Tx) error {
	err := i.Inline.Flush(tx)
	if i.faults.flush.CompareAndSwap(true, false) {
		return errors.Join(err, errFault)
	}
	return err
}

func (i faultyInline) WriteBehind(tx eventstore.Tx) error {
	if i.faults.killed.Load() {
		return errFault
	}
	err := i.Inline.WriteBehind(tx)
	if i.faults.behind.CompareAndSwap(true, false) {
		return errors.Join(err, errFault)
	}
	return err
}

// openFaulty opens the log of b again, with faults.
func (b *bundle) openFaulty(t testing.TB) *faults {
	t.Helper()
	b.close(t)
	var err error
	if b.DB, err = sqlite.Open(t.Context(), sqlite.Options{Path: b.path, Now: b.now, Durability: sqlite.DurabilityRelaxed}); err != nil {
		t.Fatalf("open: %v", err)
	}
	f := &faults{}
	if b.engine, err = projections.Start(t.Context(), faultyLog{b.DB, f}, b.defs, projections.Options{Rules: rules, Now: b.now}); err != nil {
		t.Fatalf("start projections: %v", errors.Join(err, b.DB.Close()))
	}
	return f
}

func TestReadModelsLeftBehindAreCaughtUpAtTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.append(t, talks(30)...)
	f := b.openFaulty(t)
	f.killed.Store(true)
	b.append(t, event("config.applied", 30, map[string]any{"agents": []any{map[string]any{"id": "eden"}}}))
	b.append(t, talks(60)[30:]...)
	left := b.statuses(t)
	for name, s := range left {
		if s.State != projections.Live || (s.Lag > 0) != (s.Kind == projections.ReadModel) {
			t.Errorf("what the kill has left of %s: %+v", name, s)
		}
	}
	b.reopen(t)
	for name, s := range b.statuses(t) {
		if s.State != projections.Live || s.Lag != 0 {
			t.Errorf("status of %s is %+v", name, s)
		}
	}
	b.append(t, talk(60))
	wantSame(t, "tables", b.dump(t), b.replayed(t))
}

// A long tail is folded while appends go on, as for another version.
func TestReadModelsFarBehindAreRebuilt(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	f := b.openFaulty(t)
	f.killed.Store(true)
	events := make([]eventstore.NewEvent, 5_001)
	for i := range events {
		events[i] = good(int64(i))
	}
	b.append(t, events...)
	b.reopen(t)
	stale, err := b.engine.Stale(t.Context())
	if diff := cmp.Diff([]string{"index", "conversation"}, stale); diff != "" || err != nil {
		t.Errorf("stale projections, %v (-want +got):\n%s", err, diff)
	}
}

// A read model that fails is parked at the event that it cannot apply, however many batches are written at once.
func TestReadModelWrittenBehindIsParkedAtTheRightEvent(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprintf("left by a kill %v", left), func(t *testing.T) {
			t.Parallel()
			b := setupCounters(t, counter{name: "broken", version: "1", kind: projections.ReadModel, apply: failsAt(func(eventstore.Tx) error { return errOnPurpose })})
			f := b.openFaulty(t)
			f.killed.Store(left)
			b.append(t, good(0))
			b.append(t, good(1), good(2), bad(3), good(4))
			b.append(t, good(5))
			if left {
				b.reopen(t)
			}
			s := b.statuses(t)["broken"]
			if s.State != projections.Parked || s.Seq != 3 || s.ParkedSeq != 4 {
				t.Errorf("status is %+v", s)
			}
			if diff := cmp.Diff(map[string]int64{"good": 3}, b.counts(t, "broken")); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// Promise: tables-from-log
func TestTablesDoNotDependOnWhenTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		b := setupAt(t, filepath.Join(dir, "log.db"), definitions()...)
		defer func() { b.close(t) }()
		b.run(t, "CREATE TABLE strict_counts"+countsTable)
		b.defs = withCounters(counter{name: "strict", version: "1", kind: projections.Decision, apply: failsAt(func(eventstore.Tx) error { return errOnPurpose })})
		f := b.openFaulty(t)
		events := histories().Draw(rt, "events")
		for len(events) > 0 {
			n := rapid.IntRange(1, min(5, len(events))).Draw(rt, "events of an append")
			appended := slices.Clone(events[:n])
			var refused bool
			switch rapid.IntRange(0, 9).Draw(rt, "what happens") {
			case 0:
				b.asOf(t)
			case 1:
				refused = true
				appended = append(appended, bad(0))
			case 2:
				f.flush.Store(true)
				if _, err := b.Append(t.Context(), to(appended...)); !errors.Is(err, errFault) {
					t.Fatalf("an append whose batch fails: %v", err)
				}
				events = events[n:]
				continue
			case 3:
				f.behind.Store(true)
			case 4:
				f.killed.Store(true)
			case 5:
				f = b.openFaulty(t)
			case 6:
				f.killed.Store(false)
			case 7:
				if !f.killed.Load() && !f.behind.Load() {
					b.rebuild(t, projections.RebuildOptions{Names: []string{rapid.SampledFrom([]string{"index", "conversation"}).Draw(rt, "rebuilt")}})
				}
			}
			if _, err := b.Append(t.Context(), to(appended...)); refused != (err != nil) {
				t.Fatalf("append: %v", err)
			}
			events = events[n:]
		}
		f.behind.Store(false)
		if f.killed.Load() {
			b.openFaulty(t)
		}
		b.wantLive(t)
		wantSame(rt, "tables", b.dump(t), b.replayed(t))
	})
}
