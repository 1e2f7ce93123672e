//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package projections_test

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// However the log came to be cut into batches, whatever the caches held, and however often it was folded: the tables are the same.
//
// Promise: tables-from-log
func TestTablesDependOnTheLogAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		history := histories().Draw(rt, "history")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 10).Draw(rt, "cuts")

		live := setupAt(t, filepath.Join(dir, "live.db"), definitions()...)
		defer live.close(t)
		for batch := range cutting(history, cuts) {
			if _, err := live.Append(t.Context(), to(batch...)); err != nil {
				rt.Fatalf("append: %v", err)
			}
		}
		log, err := live.Read(t.Context(), 0, len(history))
		if err != nil {
			rt.Fatal(err)
		}
		want := live.dump(t)
		for name, s := range live.statuses(t) {
			if s.State != projections.Live {
				rt.Fatalf("projection %s is %s at %d: %s", name, s.State, s.ParkedSeq, s.ParkedError)
			}
		}
		for _, way := range []struct {
			name string
			fold func(b *bundle)
			defs []projections.Definition
		}{
			{"in one batch", func(b *bundle) { b.restore(rt, t, log, len(log)) }, definitions()},
			{"event by event", func(b *bundle) { b.restore(rt, t, log, 1) }, definitions()},
			{"in other batches", func(b *bundle) { b.restore(rt, t, log, cuts[len(cuts)-1], cuts...) }, definitions()},
			{"with nothing kept in memory", func(b *bundle) { b.restore(rt, t, log, cuts[0], cuts...) }, evicting(definitions())},
			{"across restarts", func(b *bundle) {
				for _, e := range log {
					if e.Seq%7 == 0 {
						b.reopen(t)
					}
					b.restore(rt, t, []eventstore.Event{e}, 1)
				}
			}, definitions()},
			{"rebuilt offline", func(b *bundle) {
				b.restore(rt, t, log, len(log))
				b.rebuildWith(rt, t, 3, 5, 7, projections.RebuildOptions{})
			}, definitions()},
			{"rebuilt live, again, and then with nothing kept in memory", func(b *bundle) {
				b.restore(rt, t, log, 2)
				b.rebuildWith(rt, t, 2, 4, 7, projections.RebuildOptions{Live: true})
				b.rebuildWith(rt, t, 5, 3, 4, projections.RebuildOptions{Live: true})
			}, evicting(definitions())},
			{"rebuilt before the end, then followed", func(b *bundle) {
				half := len(log) / 2
				b.restore(rt, t, log[:half], 5)
				b.rebuildWith(rt, t, 3, 1, 4, projections.RebuildOptions{})
				b.restore(rt, t, log[half:], 3)
			}, definitions()},
		} {
			func() {
				b := setupAt(t, filepath.Join(dir, way.name+".db"), way.defs...)
				defer b.close(t)
				way.fold(b)
				wantSame(rt, "tables folded "+way.name, b.dump(t), want)
			}()
		}
	})
}
