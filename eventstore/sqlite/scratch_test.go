package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// scratch makes a scratch of a log until the test ends.
func scratch(t testing.TB, log string, until int64) *sqlite.Scratch {
	t.Helper()
	return scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "scratch.db"), Log: log, Until: until})
}

func scratchAt(t testing.TB, opts sqlite.ScratchOptions) *sqlite.Scratch {
	t.Helper()
	s, err := sqlite.CreateScratch(t.Context(), opts)
	if err != nil {
		t.Fatalf("make a scratch: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the scratch: %v", err)
		}
	})
	return s
}

// number reads one number.
func number(t testing.TB, log projectiontest.Viewer, query string) int64 {
	t.Helper()
	return projectiontest.Read(t, log, func(ctx context.Context, tx *sql.Tx) (n int64, err error) {
		return n, tx.QueryRowContext(ctx, query).Scan(&n)
	})
}

func TestScratchEndsAtItsEvent(t *testing.T) {
	t.Parallel()
	const until, events = 7, 20
	log := openNew(t)
	for i := range events {
		mustAppend(t, log, send(i))
	}
	mustAppend(t, log, to("late", event(`{}`)))
	s := scratch(t, log.Path(), until)
	for i := range events { // and so it stays
		mustAppend(t, log, send(i))
	}

	for query, want := range map[string]int64{
		"SELECT max(seq) FROM events":                                             until,
		"SELECT count(*) FROM events":                                             until,
		"SELECT count(*) FROM streams":                                            3,
		"SELECT count(*) FROM v_events":                                           until,
		"SELECT max(seq) FROM v_events":                                           until,
		"SELECT seq FROM events ORDER BY seq DESC LIMIT 1":                        until,
		"SELECT count(*) FROM events WHERE seq = 8":                               0,
		"SELECT count(*) FROM events WHERE type = 'task.started'":                 0,
		"SELECT count(*) FROM streams WHERE name = 'late'":                        0,
		"SELECT count(*) FROM events e JOIN streams s ON s.id = e.stream_id":      until,
		"SELECT count(*) FROM streams s LEFT JOIN events e ON e.stream_id = s.id": until,
		"SELECT count(*) FROM temp.events":                                        until,
		"SELECT count(*) FROM work_sessions":                                      0,
	} {
		if got := number(t, s, query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}

	head, err := s.Head(t.Context())
	last, err2 := log.Event(t.Context(), until)
	if err := errors.Join(err, err2); err != nil || head != (eventstore.Head{Seq: until, Hash: last.Hash}) {
		t.Errorf("head is %+v, %v, want that of event %d", head, err, until)
	}
	all, err := log.Read(t.Context(), 0, until)
	read, err2 := s.Read(t.Context(), 0, 100)
	if diff := cmp.Diff(all, read); err != nil || err2 != nil || diff != "" {
		t.Errorf("events (-log +scratch), %v, %v:\n%s", err, err2, diff)
	}
	if stream, err := s.ReadStream(t.Context(), "conversation/c0", 0, 100); err != nil || len(stream) != 3 {
		t.Errorf("the stream has %d events, %v, want 3", len(stream), err)
	}
	if version, err := s.StreamVersion(t.Context(), "conversation/c1"); err != nil || version != 2 {
		t.Errorf("the stream is at version %d, %v, want 2", version, err)
	}
	next, err := log.Event(t.Context(), until+1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Event(t.Context(), until+1); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("the event after the end: %v, want not found", err)
	}
	if _, err := s.EventByID(t.Context(), next.ID); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("the event after the end, by its id: %v, want not found", err)
	}
	if e, err := s.EventByID(t.Context(), last.ID); err != nil || e.Seq != until {
		t.Errorf("the last event is %d, %v, want %d", e.Seq, err, until)
	}
	some := projectiontest.Read(t, s, func(ctx context.Context, tx *sql.Tx) ([]eventstore.Event, error) {
		return s.EventsIn(ctx, tx, []int64{until + 1, until, 2, 100})
	})
	if len(some) != 2 || some[0].Seq != until || some[1].Seq != 2 {
		t.Errorf("picked %d events, want %d and 2", len(some), until)
	}
}

func TestScratchShowsEarlierState(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 5)
	s := scratch(t, path, 3)
	if seq, err := s.Wait(t.Context(), 3); err != nil || seq != 3 {
		t.Errorf("waiting for the last event gives %d, %v, want 3 at once", seq, err)
	}
	_, err := s.Wait(t.Context(), 4)
	_, appending := s.Append(t.Context(), send(1))
	for _, err := range []error{err, appending} {
		if past := wantAs[*eventstore.PastError](t, err); past.Seq != 3 || past.Code() != "past" {
			t.Errorf("refused with %+v, want the past at 3", past)
		}
	}
	for _, statement := range []string{
		"DELETE FROM events", "DELETE FROM " + sqlite.ScratchLog + ".events", "DELETE FROM work_sessions", "CREATE TEMP TABLE t (a)", "CREATE TABLE t (a)",
	} {
		err := s.View(t.Context(), func(tx *sql.Tx) error { _, err := tx.ExecContext(t.Context(), statement); return err })
		if err == nil {
			t.Errorf("%s: was allowed to a reader", statement)
		}
	}
	if err := s.Update(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("DELETE FROM " + sqlite.ScratchLog + ".events")
		return err
	}); err == nil {
		t.Error("the log was written to")
	}
}

// What a scratch is asked goes by the indexes by which the log is asked.
func TestScratchReadsByIndex(t *testing.T) {
	t.Parallel()
	s := scratch(t, fillNew(t, 20), 15)
	const (
		bySeq    = "events USING INTEGER PRIMARY KEY "
		byID     = "events USING COVERING INDEX events_by_id "
		byStream = "events USING COVERING INDEX events_by_stream "
		byName   = "streams USING COVERING INDEX sqlite_autoindex_streams_1 "
	)
	for query, uses := range map[string]string{
		"SELECT data FROM events WHERE seq = 5":                                                                  bySeq + "(rowid=?)",
		"SELECT max(seq) FROM events":                                                                            bySeq + "(rowid<?)",
		"SELECT seq FROM events WHERE seq > 3 ORDER BY seq LIMIT 9":                                              bySeq + "(rowid>? AND rowid<?)",
		"SELECT seq FROM events WHERE id = x'00'":                                                                byID + "(id=?)",
		"SELECT seq FROM events WHERE id >= x'00' AND id <= x'11' ORDER BY id LIMIT 5":                           byID + "(id>? AND id<?)",
		"SELECT max(version) FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = 'x')":            byStream + "(stream_id=?)",
		"SELECT e.data FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.name = 'x' ORDER BY e.version": byName + "(name=? AND rowid<?)",
		"SELECT e.data FROM routes r LEFT JOIN events e ON e.seq = r.seq WHERE r.route_key = 'x'":                bySeq + "(rowid=?)",
		"SELECT message FROM v_events WHERE seq = 5":                                                             bySeq + "(rowid=?)",
		"SELECT e.data FROM json_each('[1,2]') j JOIN events e ON e.seq = j.value":                               bySeq + "(rowid=?)",
	} {
		projectiontest.WantPlan(t, s, uses, query)
	}
}

func TestScratchMoves(t *testing.T) {
	t.Parallel()
	s := scratch(t, fillNew(t, 20), 15)
	var views sync.WaitGroup
	held, leave := make(chan struct{}, 4), make(chan struct{})
	for range cap(held) { // so that every connection is in use
		views.Go(func() {
			if err := s.View(t.Context(), func(tx *sql.Tx) error {
				var before, after int64
				err := tx.QueryRowContext(t.Context(), "SELECT max(seq) FROM events").Scan(&before)
				held <- struct{}{}
				<-leave
				err = errors.Join(err, tx.QueryRowContext(t.Context(), "SELECT max(seq) FROM events").Scan(&after))
				if before != 15 || after != 15 {
					t.Errorf("a view saw the log end at %d, then at %d, want 15", before, after)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for range cap(held) {
		<-held
	}
	if err := s.Move(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	close(leave)
	views.Wait()
	for _, until := range []int64{4, 20, 0} {
		if err := s.Move(t.Context(), until); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			views.Go(func() {
				if got := number(t, s, "SELECT coalesce(max(seq), 0) FROM events"); got != until {
					t.Errorf("moved to %d, the log ends at %d", until, got)
				}
			})
		}
		views.Wait()
		if s.Until() != until {
			t.Errorf("moved to %d, it says %d", until, s.Until())
		}
	}
}

// One goes on writing while others read, and each reads what was committed.
func TestScratchIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	const steps, sums = 300, "SELECT coalesce(sum(seq), 0) FROM routes"
	s := scratch(t, fillNew(t, 3), 3)
	update := func(job func(eventstore.Tx) error) error { return s.Update(t.Context(), job) }
	var reading sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		reading.Go(func() {
			last := int64(0)
			for {
				sum := number(t, s, sums)
				if sum%2 != 0 || sum < last {
					t.Errorf("read %d after %d", sum, last)
				}
				last = sum
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	refused := errors.New("refused")
	for i := range steps {
		err := update(func(tx eventstore.Tx) error {
			for side := range 2 {
				if _, err := tx.Exec("INSERT INTO routes (route_key, conversation_id, last_event_type, run_id, time, seq) VALUES (?, '', '', '', 0.0, 1)",
					fmt.Sprint(i, "/", side)); err != nil {
					return err
				}
			}
			if i%3 == 0 {
				return refused
			}
			return nil
		})
		if want := i%3 == 0; errors.Is(err, refused) != want || !want && err != nil {
			t.Fatalf("update %d: %v", i, err)
		}
	}
	close(done)
	reading.Wait()
	if sum := number(t, s, sums); sum != steps/3*2*2 {
		t.Errorf("%d rows are there, want those of two thirds of %d updates: %d", sum, steps, steps/3*2*2)
	}
	if err := update(func(eventstore.Tx) error { panic("boom") }); err == nil {
		t.Error("a panic in an update is no error")
	}
	if err := update(func(eventstore.Tx) error { return nil }); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestScratchIsThrownAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(dir, "scratch.db"), Log: fillNew(t, 3), Until: 3})
	if err := s.Update(t.Context(), func(tx eventstore.Tx) error { _, err := tx.Exec("DELETE FROM routes"); return err }); err != nil {
		t.Fatal(err)
	}
	number(t, s, "SELECT count(*) FROM events")
	wantFiles(t, dir, "scratch.db", "scratch.db-shm", "scratch.db-wal")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	wantFiles(t, dir)
	for _, err := range []error{
		s.View(t.Context(), func(*sql.Tx) error { return nil }), s.Update(t.Context(), func(eventstore.Tx) error { return nil }), s.Move(t.Context(), 1),
	} {
		if !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("closed it says %v, want %v", err, eventstore.ErrClosed)
		}
	}
	if _, err := s.Wait(t.Context(), 1); !errors.Is(err, eventstore.ErrClosed) {
		t.Errorf("waiting when it is closed: %v", err)
	}
}

func wantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("files are %q, want %q", names, want)
	}
}

func TestWholeScratchIsADatabase(t *testing.T) {
	t.Parallel()
	const until = 12
	log := openNew(t)
	project(t, log)
	for i := range 20 {
		mustAppend(t, log, send(i))
	}
	for _, seq := range []int64{1, 5, until} {
		if err := log.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.db")
	write(t, path+"-wal", []byte("what another file has left")) // is no WAL of this one
	s := scratchAt(t, sqlite.ScratchOptions{Path: path, Log: log.Path(), Until: until, Whole: true})
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); err == nil {
		t.Error("a file that is not ready was opened")
	}
	fold := projections.NewFold(s, definitions(), coordination.RulesV2)
	if err := fold.Run(t.Context(), log, until, nil); err != nil {
		t.Fatal(err)
	}
	if n := number(t, s, "SELECT count(*) FROM v_events"); n != until {
		t.Errorf("it has %d events, want %d", n, until)
	}
	if err := s.Move(t.Context(), 3); err == nil {
		t.Error("a whole database was moved")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "whole.db", "whole.db.lock")
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	for _, pragma := range []string{"journal_mode wal", fmt.Sprint("application_id ", sqlite.ApplicationID)} {
		name, want, _ := strings.Cut(pragma, " ")
		if got := column(t, path, "PRAGMA "+name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if diff := cmp.Diff(schema(t, log.Path()), schema(t, path)); diff != "" {
		t.Errorf("schema (-log +whole):\n%s", diff)
	}

	db := open(t, sqlite.Options{Path: path, Now: atEpoch})
	verify(t, db, until)
	all, err := log.Read(t.Context(), 0, until)
	copied, err2 := db.Read(t.Context(), 0, 100)
	if diff := cmp.Diff(all, copied); err != nil || err2 != nil || diff != "" {
		t.Errorf("events (-log +whole), %v, %v:\n%s", err, err2, diff)
	}
	project(t, db)
	for i := until; i < 20; i++ {
		mustAppend(t, db, send(i))
	}
	verify(t, db, 20)
	for name, state := range statesOf(t, db) {
		if state != projections.Live {
			t.Errorf("projection %s is %s", name, state)
		}
	}
}

func statesOf(t testing.TB, db *sqlite.DB) map[string]projections.State {
	t.Helper()
	states := map[string]projections.State{}
	for _, s := range projectiontest.Read(t, db, projections.List) {
		states[s.Name] = s.State
	}
	return states
}

func TestWholeScratchThatIsNotWantedIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(dir, "whole.db"), Log: fillNew(t, 3), Until: 3, Whole: true})
	if err := s.Discard(); err != nil {
		t.Error(err)
	}
	wantFiles(t, dir)
}

func TestScratchOfWhatIsNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	sound, foreign, text, newer := fillNew(t, 3), at("foreign.db"), at("text.db"), fillNew(t, 3)
	makePlain(t, foreign, "CREATE TABLE t (a)")
	write(t, text, []byte(strings.Repeat("this is no database. ", 100)))
	alter(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	corrupt := func(err error) bool { var e *eventstore.CorruptError; return errors.As(err, &e) && e.Hint() != "" }
	invalid := func(err error) bool { var e *eventstore.InvalidError; return errors.As(err, &e) && e.Hint() != "" }
	newest := func(err error) bool { var e *eventstore.SchemaError; return errors.As(err, &e) && e.Found > e.Known }
	for name, tt := range map[string]struct {
		log, path string
		until     int64
		want      func(error) bool
	}{
		"no file":                    {at("nothing.db"), at("s.db"), 0, is(os.ErrNotExist)},
		"a foreign database":         {foreign, at("s.db"), 0, corrupt},
		"no database":                {text, at("s.db"), 0, corrupt},
		"a directory":                {dir, at("s.db"), 0, invalid},
		"a newer schema":             {newer, at("s.db"), 0, newest},
		"no name of a log":           {"", at("s.db"), 0, invalid},
		"no name":                    {sound, "", 0, invalid},
		"a place before the log":     {sound, at("s.db"), -1, invalid},
		"a place after the log":      {sound, at("s.db"), 4, invalid},
		"a file that is there":       {sound, foreign, 3, is(os.ErrExist)},
		"the log itself":             {sound, sound, 3, is(os.ErrExist)},
		"a directory that is not":    {sound, at("no/s.db"), 3, is(os.ErrNotExist)},
		"a directory in the way":     {sound, dir, 3, is(os.ErrExist)},
		"a log with nothing in it":   {at("empty.db"), at("s.db"), 0, nil},
		"a log's file with no bytes": {at("none.db"), at("s.db"), 0, is(os.ErrNotExist)},
	} {
		for _, whole := range []bool{false, true} {
			switch filepath.Base(tt.log) {
			case "empty.db":
				if !whole {
					fill(t, tt.log, 0)
				}
			case "none.db":
				write(t, tt.log, nil)
			}
			s, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Path: tt.path, Log: tt.log, Until: tt.until, Whole: whole})
			if tt.want == nil {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if err := s.Discard(); err != nil {
					t.Error(err)
				}
				continue
			}
			if err == nil || !tt.want(err) {
				t.Errorf("%s: refused with %T %v", name, err, err)
			}
			if _, err := os.Lstat(at("s.db")); err == nil {
				t.Errorf("%s: a file was left behind", name)
			}
		}
	}
	verify(t, open(t, sqlite.Options{Path: sound, ReadOnly: true}), 3)
}

func TestScratchOfADamagedLog(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 400)
	content := read(t, path)
	for at := len(content) / 3; at < len(content); at++ {
		content[at] = 0
	}
	write(t, path, content)
	_, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "whole.db"), Log: path, Until: 400, Whole: true})
	wantHint(t, err)
}

// The log's tables never changed, so a log of an older openclawd can be read without changing it.
func TestScratchOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 10)
	downTo(t, path, 2)
	before := read(t, path)
	for _, whole := range []bool{false, true} {
		s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "s.db"), Log: path, Until: 6, Whole: whole})
		fold := projections.NewFold(s, definitions(), coordination.RulesV2)
		if err := fold.Run(t.Context(), s, 6, nil); err != nil {
			t.Fatal(err)
		}
		if n := number(t, s, "SELECT count(*) FROM v_discord_posts") + number(t, s, "SELECT count(*) FROM v_events"); n != 6 {
			t.Errorf("its views show %d rows, want the 6 events", n)
		}
	}
	if string(read(t, path)) != string(before) {
		t.Error("the older file was changed")
	}
}

// On a medium that cannot be written to SQLite can make no shared memory beside the file. Nor can it beside one whose name is as long as names
// may be.
func TestLogWithoutRoomBesideItIsRead(t *testing.T) {
	t.Parallel()
	const longest = 255
	path := filepath.Join(t.TempDir(), strings.Repeat("l", longest-len("-wal")+1))
	short := fillNew(t, 5)
	if err := os.Rename(short, path); err != nil {
		t.Fatal(err)
	}
	db := open(t, sqlite.Options{Path: path, ReadOnly: true})
	verify(t, db, 5)
	for _, whole := range []bool{false, true} {
		s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "s.db"), Log: path, Until: 4, Whole: whole})
		if n := number(t, s, "SELECT count(*) FROM events"); n != 4 {
			t.Errorf("the scratch shows %d events, want 4", n)
		}
	}
}

func TestScratchOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := scratch(t, fillNew(t, 3), 3)
	err := s.Update(t.Context(), func(tx eventstore.Tx) error {
		if err := tx.Query("PRAGMA main.max_page_count = 1", nil, func(eventstore.Row) error { return nil }); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO routes (route_key, conversation_id, last_event_type, run_id, time, seq) VALUES (?, '', '', '', 0.0, 1)",
			strings.Repeat("x", 100_000))
		return err
	})
	if full := wantAs[*eventstore.DiskFullError](t, err); full.Path != s.Path() {
		t.Errorf("%s is full, want %s", full.Path, s.Path())
	}
	if n := number(t, s, "SELECT count(*) FROM routes"); n != 0 {
		t.Errorf("%d rows were kept, want none", n)
	}
}

func TestCancelledScratchLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), fillNew(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, whole := range []bool{false, true} {
		_, err := sqlite.CreateScratch(ctx, sqlite.ScratchOptions{Path: filepath.Join(dir, "s.db"), Log: log, Until: 3, Whole: whole})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled it says %v, want %v", err, context.Canceled)
		}
	}
	wantFiles(t, dir)
}

func TestScratchOfALogThatIsWrittenTo(t *testing.T) {
	t.Parallel()
	log := openNew(t)
	project(t, log)
	for i := range 50 {
		mustAppend(t, log, send(i))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			if _, err := log.Append(t.Context(), send(50+i)); err != nil {
				t.Errorf("append beside a scratch: %v", err)
				return
			}
		}
	}()
	for n := range 6 {
		s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "s.db"), Log: log.Path(), Until: 50, Whole: n%2 == 1})
		fold := projections.NewFold(s, definitions(), coordination.RulesV2)
		if err := fold.Run(t.Context(), log, 50, nil); err != nil {
			t.Fatal(err)
		}
		if got := number(t, s, "SELECT count(*) * 1000 + max(seq) FROM v_events"); got != 50_050 {
			t.Errorf("it shows %d events, the last %d, want 50", got/1000, got%1000)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	<-done
	verify(t, log, 350)
}

// What is made in the background takes a fraction of the memory: caches of pages were most of what it cost a server.
func TestFrugalScratchKeepsFewPages(t *testing.T) {
	t.Parallel()
	log := openNew(t)
	first := mustAppend(t, log, send(0))
	kib := func(frugal bool) (sum int64) {
		s := scratchAt(t, sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "scratch.db"), Log: log.Path(), Frugal: frugal})
		if events, err := s.Log().Read(t.Context(), 0, 10); err != nil || len(events) != 1 {
			t.Errorf("the log up to event %d, after the end of the scratch, has %d events: %v", first.Seq, len(events), err)
		}
		err := s.Update(t.Context(), func(tx eventstore.Tx) error {
			for _, schema := range []string{"main", sqlite.ScratchLog} {
				if err := tx.Query("PRAGMA "+schema+".cache_size", nil, func(r eventstore.Row) error {
					sum -= r.Int(0) // negative: in KiB
					return nil
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	if usual, frugal := kib(false), kib(true); frugal <= 0 || frugal*4 > usual {
		t.Errorf("%d KiB of pages, and %d when it is frugal", usual, frugal)
	}
}
