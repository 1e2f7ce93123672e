package past_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const rules = coordination.RulesV2

// began is when the story of these tests begins, in ms since 1970.
const began = 1_771_588_800_000 // 2026-02-20T12:00:00Z

// story is a log in which a team works together; each event is recorded a second after the one before. stops are the tables after each.
type story struct {
	*sqlite.DB
	stops [][]string
	ids   []eventstore.ID
}

func tell(t testing.TB) *story {
	t.Helper()
	s, seconds := &story{}, int64(0)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), database.Name), Durability: sqlite.DurabilityRelaxed,
		Now: func() time.Time { return time.UnixMilli(began + seconds*1000) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := projections.Start(t.Context(), db, database.Projections(rules), projections.Options{Rules: rules, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
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

// at opens a state until the test ends.
func at(t testing.TB, opts past.Options, seq int64) *past.State {
	t.Helper()
	state, err := past.Open(t.Context(), opts, seq, nil)
	if err != nil {
		t.Fatalf("open the past at %d: %v", seq, err)
	}
	t.Cleanup(func() { wantClosed(t, state) })
	return state
}

func wantClosed(t testing.TB, state *past.State) {
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

func TestStateIsWhatALogThatWasStoppedThereHad(t *testing.T) {
	t.Parallel()
	log, dir := tell(t), t.TempDir()
	for seq := range int64(len(log.stops)) {
		if seq > 3 && seq%7 != 0 && seq != int64(len(log.stops)-1) {
			continue
		}
		state := at(t, past.Options{Log: log.DB, Dir: filepath.Join(dir, "states"), Rules: rules}, seq)
		wantTables(t, state, log.stops[seq])
		if state.Until() != seq || state.Fold.Seq() != seq {
			t.Errorf("the state ends at %d, its fold stands at %d, want %d", state.Until(), state.Fold.Seq(), seq)
		}
		if want := time.UnixMilli(began + (seq-1)*1000); seq > 0 && !state.At.Equal(want) || seq == 0 && !state.At.IsZero() {
			t.Errorf("event %d was recorded at %s, want %s", seq, state.At, want)
		}
		wantClosed(t, state)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "states")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStateGoesOn(t *testing.T) {
	t.Parallel()
	log := tell(t)
	state := at(t, past.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, 5)
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
	state := at(t, past.Options{Log: log.DB, Rules: rules, Out: out}, seq)
	wantTables(t, state, log.stops[seq])
	wantClosed(t, state)
	if _, err := past.Open(t.Context(), past.Options{Log: log.DB, Rules: rules, Out: out}, 3, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file that is there: %v, want %v", err, os.ErrExist)
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

// Payloads that were moved out of the log's file are in a state as if they were in it, and back in a file of its own.
func TestStateOfAnArchivedLog(t *testing.T) {
	t.Parallel()
	log := tell(t)
	const seq, first, last = 20, 1, 15
	all, err := log.Read(t.Context(), 0, seq)
	if err != nil {
		t.Fatal(err)
	}
	dir := archive.Open(database.ArchiveDir(log.Path()))
	sealed, err := dir.Seal(t.Context(), log, first, last, time.UnixMilli(began), nil)
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(coordination.LogArchived{First: first, Last: last, File: sealed.File, SHA256: sealed.SHA256})
	if err != nil {
		t.Fatal(err)
	}
	blanked, err := log.Archive(t.Context(), first, last, func(string, bool) bool { return false }, eventstore.StreamAppend{
		Stream: coordination.ArchiveStream, Events: []eventstore.NewEvent{{Type: coordination.TypeLogArchived, Data: said}}})
	if err != nil || blanked != last {
		t.Fatalf("%d payloads were blanked, %v", blanked, err)
	}
	archived, err := database.OpenToRead(t.Context(), log.Path(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer archived.Close()
	out := filepath.Join(t.TempDir(), "whole", "state.db")
	if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"", out} {
		state := at(t, past.Options{Log: archived, Dir: t.TempDir(), Rules: rules, Out: out}, seq)
		wantTables(t, state, log.stops[seq])
		events, err := state.Read(t.Context(), 0, 100)
		if diff := cmp.Diff(all, events); err != nil || diff != "" {
			t.Errorf("events, %v (-before +archived):\n%s", err, diff)
		}
		wantClosed(t, state)
	}
	whole, err := sqlite.Open(t.Context(), sqlite.Options{Path: out, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if proof, err := whole.Verify(t.Context(), false, nil); err != nil || proof.Redacted != 0 {
		t.Errorf("a file of its own verifies as %+v, %v, want nothing redacted", proof, err)
	}

	// Without the archive nobody knows what was there, though at this event it had not been archived yet.
	state := at(t, past.Options{Log: archived, Dir: t.TempDir(), Rules: rules}, seq)
	if err := os.RemoveAll(dir.Path()); err != nil {
		t.Fatal(err)
	}
	var lost *eventstore.ArchivedError
	if _, err := state.Read(t.Context(), 0, 100); !errors.As(err, &lost) || lost.Last != last {
		t.Errorf("read without the archive: %v, want an error that names it", err)
	}
	for _, out := range []string{"", filepath.Join(t.TempDir(), "state.db")} {
		lost = nil
		if _, err := past.Open(t.Context(), past.Options{Log: archived, Dir: t.TempDir(), Rules: rules, Out: out}, seq, nil); !errors.As(err, &lost) {
			t.Errorf("made without the archive: %v, want an error that names it", err)
		}
	}
}

func TestStateThatCannotBeMade(t *testing.T) {
	t.Parallel()
	log, dir := tell(t), t.TempDir()
	head := int64(len(log.stops) - 1)
	for _, out := range []string{"", filepath.Join(dir, "state.db")} {
		opts := past.Options{Log: log.DB, Dir: dir, Rules: rules, Out: out}
		for _, seq := range []int64{-1, head + 1} {
			var point *past.PointError
			if _, err := past.Open(t.Context(), opts, seq, nil); !errors.As(err, &point) || point.Head != head || point.Code() != "no_such_point" {
				t.Errorf("the past at %d: %v, want an error of the point", seq, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := past.Open(ctx, opts, head, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("broken off: %v, want %v", err, context.Canceled)
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
		wantTables(t, at(t, past.Options{Log: log.DB, Dir: dir, Rules: rules}, seq), log.stops[seq])
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
		if seq, err := past.Resolve(t.Context(), log.DB, point); err != nil || seq != want {
			t.Errorf("%q is event %d, %v, want %d", point, seq, err, want)
		}
	}
	for _, point := range []string{"", "-1", fmt.Sprint(head + 1), "99999999999999999999", "HEAD~1", "어제", "2026-02-30", "2026-02-20T12:00:00",
		"00000000-0000-7000-8000-000000000000"} {
		var bad *past.PointError
		if seq, err := past.Resolve(t.Context(), log.DB, point); !errors.As(err, &bad) || bad.Head != head || bad.Hint() == "" {
			t.Errorf("%q is event %d, %v, want an error of the point", point, seq, err)
		}
	}
}

func TestPointsInAnEmptyLog(t *testing.T) {
	t.Parallel()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), database.Name)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, point := range []string{"0", "head", "2026-02-20"} {
		if seq, err := past.Resolve(t.Context(), log, point); err != nil || seq != 0 {
			t.Errorf("%q is event %d, %v, want 0", point, seq, err)
		}
	}
	state := at(t, past.Options{Log: log, Dir: t.TempDir(), Rules: rules}, 0)
	if n := projectiontest.Read(t, state, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
		return n, tx.QueryRowContext(ctx, "SELECT count(*) FROM projections WHERE seq = 0 AND state = 'live'").Scan(&n)
	}); n != len(database.Projections(rules)) {
		t.Errorf("%d checkpoints, want %d", n, len(database.Projections(rules)))
	}
}
