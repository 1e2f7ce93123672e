//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package debugger

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/compare"
)

// Stepping and jumping in any order gives the same tables as building them as of the event reached.
//
// Promise: debugger
func TestMachineStandsWhereTheLogStood(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"4-flows", "7-discord"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := golden(t, name)
			head, judge := headOf(t, log), newOracle(t, log)
			seed := rand.Uint64()
			dice := rand.New(rand.NewPCG(seed, 1))
			t.Logf("seed %d", seed)
			m := machineOn(t, Options{Log: log, Keep: 5, Lead: 4}, dice.Int64N(head+1))
			judge.want(t, m)
			for range testscale.Of(8, 20) {
				var err error
				from := m.At()
				switch dice.IntN(5) {
				case 0, 1:
					if err = m.Forward(t.Context()); from == head && errors.Is(err, ErrEnd) {
						err = nil
					}
				case 2, 3:
					if err = m.Back(t.Context(), nil); from == 0 && errors.Is(err, ErrStart) {
						err = nil
					}
				default:
					err = m.Goto(t.Context(), dice.Int64N(head+1), nil)
				}
				if err != nil {
					t.Fatalf("from %d: %v", from, err)
				}
				if until := m.State().Until(); until != m.At() {
					t.Fatalf("events are shown up to %d at %d", until, m.At())
				}
				judge.want(t, m)
			}
		})
	}
}

// The changes shown for a step are the differences between the tables before and after it.
func TestStepShowsWhatItChanged(t *testing.T) {
	t.Parallel()
	log := team(t)
	head, judge := headOf(t, log), newOracle(t, log)
	from := head - testscale.Of[int64](6, 16) // where answers arrive, fail and are late
	m, before := machineOn(t, Options{Log: log}, from), judge.open(t, from)
	for seq := from + 1; seq <= head; seq++ {
		if err := m.Forward(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := m.Show(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Seq != seq || s.Event == nil || s.Event.Seq != seq || s.Head != head {
			t.Fatalf("step %d of %d shows %+v, want %d", s.Seq, s.Head, s.Event, seq)
		}
		after := judge.open(t, seq)
		var want []compare.Change
		if _, err := compare.Tables(t.Context(), before, after, database.Projections(rules), func(c compare.Change) error {
			want = append(want, c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
		before = after
		if diff := cmp.Diff(want, s.Changes); diff != "" {
			t.Fatalf("changes of event %d, %s (- compared, + journaled)\n%s", seq, s.Event.Type, diff)
		}
	}
	if err := m.Forward(t.Context()); !errors.Is(err, ErrEnd) {
		t.Errorf("after the last event: %v, want ErrEnd", err)
	}
	if err := m.Goto(t.Context(), 0, nil); err != nil {
		t.Fatal(err)
	}
	if s, err := m.Show(t.Context()); err != nil || s.Event != nil || s.Seq != 0 {
		t.Errorf("before the first event: %+v, %v; want none", s, err)
	}
	if err := m.Back(t.Context(), nil); !errors.Is(err, ErrStart) {
		t.Errorf("before the first event: %v, want ErrStart", err)
	}
}
