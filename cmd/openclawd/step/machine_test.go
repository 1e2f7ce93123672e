package step

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// oracle makes the tables of a log as of an event with nothing but past.Open.
type oracle struct {
	log   *sqlite.DB
	dir   string
	known map[int64][]string
}

func newOracle(t testing.TB, log *sqlite.DB) *oracle {
	return &oracle{log, t.TempDir(), map[int64][]string{}}
}

func (o *oracle) open(t testing.TB, seq int64) *past.State {
	t.Helper()
	state, err := past.Open(t.Context(), past.Options{Log: o.log, Dir: o.dir, Rules: rules}, seq, nil)
	if err != nil {
		t.Fatalf("tables as of %d: %v", seq, err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state
}

func (o *oracle) at(t testing.TB, seq int64) []string {
	t.Helper()
	if o.known[seq] == nil {
		state := o.open(t, seq)
		o.known[seq] = projectiontest.Dump(t, state, database.Projections(rules)...)
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return o.known[seq]
}

func (o *oracle) want(t testing.TB, m *Machine) {
	t.Helper()
	got := projectiontest.Dump(t, m.State(), database.Projections(rules)...)
	if diff := cmp.Diff(o.at(t, m.At()), got); diff != "" {
		t.Fatalf("tables at %d (- as made at once, + as stepped)\n%s", m.At(), diff)
	}
}

// However somebody walks through a log, the tables are those that the log makes as of the event that is reached.
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
			for range 20 {
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

// What a step shows as changed is what differs between the tables before it and after it.
func TestStepShowsWhatItChanged(t *testing.T) {
	t.Parallel()
	log := team(t)
	head, judge := headOf(t, log), newOracle(t, log)
	from := head - 16 // where answers come, fail and are late
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

// Events that are appended meanwhile can be stepped to.
func TestMachineFollowsALogThatGoesOn(t *testing.T) {
	t.Parallel()
	log := team(t)
	m := machineOn(t, Options{Log: log}, headOf(t, log))
	if err := m.Forward(t.Context()); !errors.Is(err, ErrEnd) {
		t.Fatalf("%v, want ErrEnd", err)
	}
	projectiontest.Tell(t, log, noon.UnixMilli()+1).Team()
	if err := m.Forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	newOracle(t, log).want(t, m)
}

// A Goto that is cancelled, or names no event, leaves the machine where it can go on, and no file behind.
func TestMachineThatIsStoppedGoesOn(t *testing.T) {
	t.Parallel()
	log := golden(t, "7-discord")
	head, judge := headOf(t, log), newOracle(t, log)
	m := machineOn(t, Options{Log: log, Keep: 2, Lead: 2}, head)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := m.Goto(stopped, 1, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it is cancelled", err)
	}
	var point *past.PointError
	for _, seq := range []int64{-1, head + 1} {
		if err := m.Goto(t.Context(), seq, nil); !errors.As(err, &point) || point.Head != head {
			t.Fatalf("go to %d: %v, want a PointError", seq, err)
		}
	}
	judge.want(t, m)
	for range 8 {
		if err := m.Back(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	judge.want(t, m)
	dir := m.opts.Dir
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v; want none", left, err)
	}
}
