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

// cutting yields the list in runs of the given lengths, over and over.
func cutting[E any](list []E, cuts []int) func(yield func([]E) bool) {
	return func(yield func([]E) bool) {
		for i := 0; len(list) > 0; i++ {
			n := min(cuts[i%len(cuts)], len(list))
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// restore puts events of another log into this one, first and then others of them in a transaction.
func (b *bundle) restore(rt fataler, t testing.TB, events []eventstore.Event, first int, others ...int) {
	for batch := range cutting(events, append([]int{first}, others...)) {
		if err := b.Restore(t.Context(), batch); err != nil {
			rt.Fatalf("restore: %v", err)
		}
	}
}

func (b *bundle) rebuildWith(rt fataler, t testing.TB, page, live, offline int, opts projections.RebuildOptions) {
	b.engine.SetPace(page, live, offline)
	if err := b.engine.Rebuild(t.Context(), opts); err != nil {
		rt.Fatalf("rebuild: %v", err)
	}
}

// fataler is what rapid's and testing's T have in common here.
type fataler interface {
	Fatalf(format string, args ...any)
}

// evicting gives definitions whose caches hold nothing from one batch to the next.
func evicting(defs []projections.Definition) []projections.Definition {
	for i := range defs {
		made := defs[i].New
		defs[i].New = func(name func(string) string) projections.Projector { return forgetful{made(name)} }
	}
	return defs
}

type forgetful struct{ projections.Projector }

func (p forgetful) Rows() []projections.Rows {
	rows := p.Projector.Rows()
	for i := range rows {
		rows[i] = emptied{rows[i]}
	}
	return rows
}

// emptied is a cache that drops everything where others drop what is too much.
type emptied struct{ projections.Rows }

func (r emptied) Trim() { r.Forget() }

// Whatever time an imported line claims, the sum and the difference of two of them included, is stored and read back.
func TestTimesFarApartStopNoProjection(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	for _, ts := range []string{"1.7e308", "-1.7e308", "5e-324", "1.7e308", "-1.7e308", "1790000000000.5"} {
		e := event("a2a.send", 0, map[string]any{"workSessionId": "ws_1", "fromAgent": "main", "toAgent": "ruda", "conversationId": "c1"})
		e.Original = []byte(`{"ts":` + ts + `}`)
		b.append(t, e)
		b.reopen(t) // so that the row is read back
	}
	for name, s := range b.statuses(t) {
		if s.State != projections.Live {
			t.Errorf("projection %s is %s at %d: %s", name, s.State, s.ParkedSeq, s.ParkedError)
		}
	}
	wantSame(t, "tables", b.replayed(t), b.dump(t))
}
