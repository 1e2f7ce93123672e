package debugger

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// oracle builds the tables of a log as of an event with asof.Open only.
type oracle struct {
	log   *sqlite.DB
	dir   string
	known map[int64][]string
}

func newOracle(t testing.TB, log *sqlite.DB) *oracle {
	return &oracle{log, t.TempDir(), map[int64][]string{}}
}

func (o *oracle) open(t testing.TB, seq int64) *asof.State {
	t.Helper()
	state, err := asof.Open(t.Context(), asof.Options{Log: o.log, Dir: o.dir, Rules: rules}, seq, nil)
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
		t.Fatalf("tables at %d (- built at once, + stepped)\n%s", m.At(), diff)
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

// A Goto that is cancelled, or names no event, leaves the machine usable, and no file behind.
func TestMachineThatIsStoppedGoesOn(t *testing.T) {
	t.Parallel()
	log := golden(t, "7-discord")
	head, judge := headOf(t, log), newOracle(t, log)
	m := machineOn(t, Options{Log: log, Keep: 2, Lead: 2}, head)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := m.Goto(stopped, 1, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want it cancelled", err)
	}
	var point *asof.PointError
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
