package asof_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

const rules = coordination.RulesV2

// began is the time of the first event of these tests, in ms since 1970.
const began = 1_771_588_800_000 // 2026-02-20T12:00:00Z

// story is a log of a team; each event is recorded a second after the previous one. stops are the tables after each.
type story struct {
	*sqlite.DB
	stops [][]string
	ids   []eventstore.ID
}

func tell(t testing.TB) *story {
	t.Helper()
	s, seconds := &story{}, int64(0)
	db, _ := projectiontest.New(t, sqlite.Options{Path: filepath.Join(t.TempDir(), database.Name),
		Now: func() time.Time { return time.UnixMilli(began + seconds*1000) }}, database.Projections(rules)...)
	s.DB = db
	s.stop(t)
	projectiontest.Tell(t, appending(func(ctx context.Context, a ...eventstore.StreamAppend) (eventstore.Result, error) {
		result, err := db.Append(ctx, a...)
		s.stop(t)
		s.ids = append(s.ids, result.Events[0].ID)
		seconds++
		return result, err
	}), began).Team()
	return s
}

func (s *story) stop(t testing.TB) {
	s.stops = append(s.stops, projectiontest.Dump(t, s, database.Projections(rules)...))
}

type appending func(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error)

func (a appending) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	return a(ctx, appends...)
}

// at opens a state, which is closed when the test ends.
func at(t testing.TB, opts asof.Options, seq int64) *asof.State {
	t.Helper()
	state, err := asof.Open(t.Context(), opts, seq, nil)
	if err != nil {
		t.Fatalf("open the tables as of %d: %v", seq, err)
	}
	t.Cleanup(func() { wantClosed(t, state) })
	return state
}

func wantClosed(t testing.TB, state *asof.State) {
	t.Helper()
	if err := state.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func wantTables(t testing.TB, log projectiontest.Viewer, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, projectiontest.Dump(t, log, database.Projections(rules)...)); diff != "" {
		t.Errorf("tables (-want +got):\n%.4000s", diff)
	}
}

func TestStateGoesOn(t *testing.T) {
	t.Parallel()
	log := tell(t)
	state := at(t, asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, 5)
	for seq := int64(6); seq <= 15; seq++ {
		e, err := log.Event(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		err = state.Update(t.Context(), func(tx eventstore.Tx) error { return state.Fold.Step(tx, &e) })
		if err := errors.Join(err, state.Move(t.Context(), seq)); err != nil {
			t.Fatal(err)
		}
	}
	wantTables(t, state, log.stops[15])
	if err := errors.Join(state.Fold.Run(t.Context(), log, 30, nil), state.Move(t.Context(), 30)); err != nil {
		t.Fatal(err)
	}
	wantTables(t, state, log.stops[30])
}

func TestWholeStateStays(t *testing.T) {
	t.Parallel()
	log, out := tell(t), filepath.Join(t.TempDir(), "state.db")
	const seq = 20
	state := at(t, asof.Options{Log: log.DB, Rules: rules, Out: out}, seq)
	wantTables(t, state, log.stops[seq])
	wantClosed(t, state)
	if _, err := asof.Open(t.Context(), asof.Options{Log: log.DB, Rules: rules, Out: out}, 3, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing file: %v, want %v", err, os.ErrExist)
	}
	db, err := database.OpenExisting(t.Context(), out, "test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if proof, err := db.Verify(t.Context(), false, nil); err != nil || proof.Events != seq {
		t.Errorf("it verifies as %+v, %v, want %d events", proof, err, seq)
	}
	if _, err := projections.Start(t.Context(), db, database.Projections(rules), projections.Options{Rules: rules, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	list, err := database.Statuses(t.Context(), db)
	for _, s := range list {
		if s.State != projections.Live {
			t.Errorf("projection %s is %s", s.Name, s.State)
		}
	}
	if err != nil || len(list) == 0 {
		t.Errorf("%d projections, %v", len(list), err)
	}
	rest, err := log.Read(t.Context(), seq, 1000)
	if err := errors.Join(err, db.Restore(t.Context(), rest)); err != nil {
		t.Fatal(err)
	}
	wantTables(t, db, log.stops[len(log.stops)-1])
}

func TestStateThatCannotBeMade(t *testing.T) {
	t.Parallel()
	log, dir := tell(t), t.TempDir()
	head := int64(len(log.stops) - 1)
	for _, out := range []string{"", filepath.Join(dir, "state.db")} {
		opts := asof.Options{Log: log.DB, Dir: dir, Rules: rules, Out: out}
		for _, seq := range []int64{-1, head + 1} {
			var point *asof.PointError
			if _, err := asof.Open(t.Context(), opts, seq, nil); !errors.As(err, &point) || point.Head != head || point.Code() != "no_such_point" {
				t.Errorf("the tables as of %d: %v, want a PointError", seq, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := asof.Open(ctx, opts, head, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v, want %v", err, context.Canceled)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestStatesWhileTheLogGrows(t *testing.T) {
	t.Parallel()
	log, dir := tell(t), t.TempDir()
	head := int64(len(log.stops) - 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			data := fmt.Appendf(nil, `{"toAgent":"seum","workSessionId":%q}`, fmt.Sprint(projectiontest.TeamSession, i%2))
			if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "more", Events: []eventstore.NewEvent{
				{Type: coordination.TypeA2ASend, AgentID: "main", Data: data}}}); err != nil {
				t.Errorf("append: %v", err)
				return
			}
		}
	}()
	for _, seq := range []int64{head, 10, head} {
		wantTables(t, at(t, asof.Options{Log: log.DB, Dir: dir, Rules: rules}, seq), log.stops[seq])
	}
	<-done
}

func TestPointsInALog(t *testing.T) {
	t.Parallel()
	log := tell(t)
	head := int64(len(log.stops) - 1)
	after := func(ms int64) string { return time.UnixMilli(began + ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }
	for point, want := range map[string]int64{
		"0": 0, "1": 1, " 7 ": 7, fmt.Sprint(head): head, "head": head,
		log.ids[0].String(): 1, strings.ToUpper(log.ids[8].String()): 9,
		after(0): 1, after(-1): 0, after(999): 1, after(1000): 2, after(12_345): 13, after((head - 1) * 1000): head, after(1_000_000_000): head,
		"2026-02-20T12:00:03Z": 4, "2026-02-20T21:00:03+09:00": 4, "2026-02-20": 0, "2026-02-21": head, "1969-01-01": 0,
	} {
		if seq, err := asof.Resolve(t.Context(), log.DB, point); err != nil || seq != want {
			t.Errorf("%q is event %d, %v, want %d", point, seq, err, want)
		}
	}
	for _, point := range []string{"", "-1", fmt.Sprint(head + 1), "99999999999999999999", "HEAD~1", "어제", "2026-02-30", "2026-02-20T12:00:00",
		"00000000-0000-7000-8000-000000000000"} {
		var bad *asof.PointError
		if seq, err := asof.Resolve(t.Context(), log.DB, point); !errors.As(err, &bad) || bad.Head != head || bad.Hint() == "" {
			t.Errorf("%q is event %d, %v, want a PointError", point, seq, err)
		}
	}
}

func TestPointsInAnEmptyLog(t *testing.T) {
	t.Parallel()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), database.Name), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, point := range []string{"0", "head", "2026-02-20"} {
		if seq, err := asof.Resolve(t.Context(), log, point); err != nil || seq != 0 {
			t.Errorf("%q is event %d, %v, want 0", point, seq, err)
		}
	}
	state := at(t, asof.Options{Log: log, Dir: t.TempDir(), Rules: rules}, 0)
	if n := projectiontest.Read(t, state, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
		return n, tx.QueryRowContext(ctx, "SELECT count(*) FROM projections WHERE seq = 0 AND state = 'live'").Scan(&n)
	}); n != len(database.Projections(rules)) {
		t.Errorf("%d checkpoints, want %d", n, len(database.Projections(rules)))
	}
}
