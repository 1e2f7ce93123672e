package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

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
