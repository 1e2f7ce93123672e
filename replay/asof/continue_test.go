package asof_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// A snapshot can be folded on beside those who read it: they see nothing of it, and nothing is left of it.
func TestSnapshotIsContinuedWithoutBeingChanged(t *testing.T) {
	t.Parallel()
	b := setupCache(t)
	snapshot, release := b.hold(t, 4)
	before := projectiontest.Dump(t, snapshot, database.Projections(coordination.RulesV2)...)
	for range 2 { // also a second time
		state, err := b.Continue(t.Context(), snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if state.Until() != 4 || !state.At.Equal(snapshot.At) {
			t.Errorf("it stands at %d, %v", state.Until(), state.At)
		}
		e, err := snapshot.Event(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := state.Update(t.Context(), func(tx eventstore.Tx) error {
			_, err := tx.Exec("DELETE FROM work_sessions")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if state.Fold.Seq() != e.Seq {
			t.Errorf("the fold stands at %d, want %d", state.Fold.Seq(), e.Seq)
		}
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(before, projectiontest.Dump(t, snapshot, database.Projections(coordination.RulesV2)...)); diff != "" {
		t.Errorf("the snapshot has changed (-before +after):\n%s", diff)
	}
	b.free.Store(10)
	var full *eventstore.DiskFullError
	if _, err := b.Continue(t.Context(), snapshot); !errors.As(err, &full) {
		t.Errorf("without free space: %v, want disk_full", err)
	}
	b.free.Store(1 << 30)
	release()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Continue(t.Context(), snapshot); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("after Close: %v, want that it is closed", err)
	}
}
