package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func newShared() *sharedtest.Memory { return sharedtest.NewMemory(time.Now) }

// node opens a log that is a copy of a shared one. Nothing is synced, for speed.
func node(t testing.TB, log shared.Log, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Shared: log, Durability: sqlite.DurabilityRelaxed, SharedWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeLog(t, db) })
	return db
}

func newNode(t testing.TB, log shared.Log) *sqlite.DB {
	t.Helper()
	return node(t, log, filepath.Join(t.TempDir(), "log.db"))
}

// lead makes a node the writer.
func lead(t testing.TB, log shared.Log, db *sqlite.DB, name string) shared.Lease {
	t.Helper()
	lease, err := log.Acquire(t.Context(), name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Lead(t.Context(), lease); err != nil {
		t.Fatalf("lead: %v", err)
	}
	return lease
}

// follow lets a node follow until it has an event.
func follow(t testing.TB, db *sqlite.DB, until int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Follow(ctx) }()
	if _, err := db.Wait(ctx, until); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("follow: %v", err)
	}
}

func openShared(t testing.TB, now func() time.Time) storetest.Harness {
	return sharedHarness(t, newShared(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: now, SharedWait: time.Minute})
}

func sharedHarness(t testing.TB, log shared.Log, opts sqlite.Options) storetest.Harness {
	t.Helper()
	opts.Shared = log
	db, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	lead(t, log, db, "a")
	return storetest.Harness{
		Log: db, Restorer: db, Redact: db.Redact, Close: db.Close,
		Reopen: func(t testing.TB) storetest.Harness { return sharedHarness(t, log, opts) },
	}
}

// Promise: acknowledged
// Promise: gapless
// Promise: append-once
func TestSharedStore(t *testing.T) { storetest.Run(t, openShared) }

func TestSharedStoreBehavesLikeItsModel(t *testing.T) { storetest.RunProperty(t, openShared) }

// wantSame checks that logs and tables of nodes are equal, and equal to the shared log.
func wantSame(t testing.TB, log shared.Log, nodes ...*sqlite.DB) {
	t.Helper()
	end, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, db := range nodes {
		own, err := db.Head(t.Context())
		if err != nil || own.Seq != end.Seq || own.Hash != end.Hash {
			t.Fatalf("node %d is at %d %.12s, the shared log at %d %.12s: %v", i, own.Seq, own.Hash, end.Seq, end.Hash, err)
		}
		if _, err := db.Verify(t.Context(), false, nil); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if diff := cmp.Diff(everything(t, nodes[0]), everything(t, db)); diff != "" {
			t.Errorf("node %d has another log (-first +this):\n%s", i, diff)
		}
		if diff := cmp.Diff(projectiontest.Dump(t, nodes[0], definitions()...), projectiontest.Dump(t, db, definitions()...)); diff != "" {
			t.Errorf("node %d has other tables (-first +this):\n%s", i, diff)
		}
	}
}

func everything(t testing.TB, db *sqlite.DB) []eventstore.Event {
	t.Helper()
	events, err := db.Read(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Promise: tables-from-log
func TestFollowersHaveTheSameLogAndTables(t *testing.T) {
	t.Parallel()
	log := newShared()
	writer, live, late := newNode(t, log), newNode(t, log), newNode(t, log)
	project(t, writer)
	project(t, live)
	lead(t, log, writer, "a")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- live.Follow(ctx) }()

	var appending sync.WaitGroup
	for w := range 8 {
		appending.Go(func() {
			for i := range 20 {
				if _, err := writer.Append(t.Context(), send(100*w+i), send(100*w+i+50)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	appending.Wait()
	if err := writer.Redact(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.RedactBy(t.Context(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
		return []int64{9, 10}, []eventstore.StreamAppend{to("log", event(`{"redacted":true}`))}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := writer.RedactShared(t.Context(), []int64{9, 10}); err != nil {
		t.Fatal(err)
	}
	last := head(t, writer)
	if _, err := live.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if follower := wantAs[*shared.FollowerError](t, appendError(live)); follower.Writer != "a" {
		t.Errorf("it follows %q", follower.Writer)
	}
	follow(t, late, last) // the log first, without tables
	// Tables that are made now, or were made before a payload went, may show it: they are made again on both.
	for _, db := range []*sqlite.DB{writer, live, late} {
		if err := project(t, db).Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wantSame(t, log, writer, live, late)
	if blank := blanked(everything(t, late)); !slices.Equal(blank, []int64{7, 9, 10}) {
		t.Errorf("blank on a node that came later: %v", blank)
	}
}

func appendError(db *sqlite.DB) error {
	_, err := db.Append(context.Background(), send(1))
	return err
}

func blanked(events []eventstore.Event) (seqs []int64) {
	for i := range events {
		if events[i].Redacted() {
			seqs = append(seqs, events[i].Seq)
		}
	}
	return seqs
}

// A node that was the writer is refused by the log, takes no appends from then on, and can follow.
func TestDeposedWriterIsFenced(t *testing.T) {
	t.Parallel()
	log := newShared()
	first, second := newNode(t, log), newNode(t, log)
	project(t, first)
	project(t, second)
	lease := lead(t, log, first, "a")
	appendTo(t, first, 5)
	if err := log.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	lead(t, log, second, "b") // the first node does not know
	for range 2 {
		fenced := wantAs[*shared.FencedError](t, appendError(first))
		if fenced.Epoch != 1 || fenced.By.Epoch != 2 || fenced.By.Node != "b" {
			t.Errorf("%+v", fenced)
		}
	}
	if n := head(t, first); n != 5 {
		t.Errorf("the deposed node has %d events, want the 5 that it stored", n)
	}
	appendTo(t, second, 3)
	follow(t, first, 8)
	wantSame(t, log, first, second)
	if err := first.Lead(t.Context(), lease); !errors.As(err, new(*shared.DivergedError)) && !errors.As(err, new(*shared.FencedError)) {
		t.Errorf("lead with an old lease: %v", err)
	}
}

func appendTo(t testing.TB, db *sqlite.DB, n int) {
	t.Helper()
	for i := range n {
		if _, err := db.Append(t.Context(), send(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// An append without an answer is stored once: the node finds it in the shared log, and its retry gets the first answer.
func TestUncertainAppendIsFoundOut(t *testing.T) {
	t.Parallel()
	log := newShared()
	lose := make(chan bool, 1)
	log.Appended = func(r shared.Record) error {
		select {
		case <-lose:
			return &shared.UncertainError{Number: r.Number, Err: errors.New("the connection was cut")}
		default:
			return nil
		}
	}
	db := newNode(t, log)
	project(t, db)
	lead(t, log, db, "a")
	for i := range 5 {
		appendTo(t, db, 1)
		lose <- true
		again := to("task/x", withID(byte(i+1)))
		_, err := db.Append(t.Context(), again)
		wantAs[*shared.UncertainError](t, err)
		if stored := appendPatiently(t, db, again); !stored.Events[0].Duplicate || stored.Events[0].Seq != int64(2*i+2) {
			t.Errorf("the retry got %+v", stored)
		}
	}
	wantSame(t, log, db)
}

func withID(n byte) eventstore.NewEvent {
	e := event(`{"n":1}`)
	e.ID = id(n)
	return e
}

// appendPatiently appends as clients do: as long as the shared log is not available, they try again.
func appendPatiently(t testing.TB, db *sqlite.DB, a eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	for {
		stored, err := db.Append(t.Context(), a)
		if err == nil {
			return stored
		}
		wantAs[*shared.UnavailableError](t, err)
	}
}

// What the shared log stored happened, whatever the file does afterwards.
func TestCommitThatFailsIsMadeUpFor(t *testing.T) {
	t.Parallel()
	log := newShared()
	db := newNode(t, log)
	project(t, db)
	lead(t, log, db, "a")
	err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
		if err == nil {
			_, err = tx.Exec("CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
		}
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, db, 1)
	_, err = db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		_, err := tx.Exec("INSERT INTO children VALUES (1)") // this is checked by the commit
		return []eventstore.StreamAppend{to("task/x", withID(1))}, err
	})
	wantAs[*shared.UncertainError](t, err)
	if stored := appendPatiently(t, db, to("task/x", withID(1))); !stored.Events[0].Duplicate || stored.Events[0].Seq != 2 {
		t.Errorf("the retry got %+v", stored)
	}
	appendTo(t, db, 3)
	wantSame(t, log, db)
}

// While the shared log takes nothing, appends are refused and reads go on.
func TestSharedLogIsUnavailable(t *testing.T) {
	t.Parallel()
	log := newShared()
	var down sync.Mutex
	var is bool
	set := func(v bool) { down.Lock(); defer down.Unlock(); is = v }
	log.Appending = func(shared.Record) error {
		down.Lock()
		defer down.Unlock()
		if is {
			return &shared.UnavailableError{Err: errors.New("no quorum")}
		}
		return nil
	}
	db := newNode(t, log)
	project(t, db)
	lead(t, log, db, "a")
	appendTo(t, db, 3)
	set(true)
	for range 3 {
		wantAs[*shared.UnavailableError](t, appendError(db))
		if n := len(everything(t, db)); n != 3 {
			t.Errorf("%d events, want 3", n)
		}
	}
	set(false)
	appendPatiently(t, db, send(4))
	wantSame(t, log, db)
}

func TestNodeAheadOfTheSharedLogStops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	alone, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, alone, 4)
	closeLog(t, alone)

	log := newShared()
	lease, err := log.Acquire(t.Context(), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	db := node(t, log, path)
	for _, err := range []error{db.Lead(t.Context(), lease), db.Follow(t.Context())} {
		if ahead := wantAs[*shared.AheadError](t, err); ahead.Local != 4 || ahead.Shared != 0 {
			t.Errorf("%+v", ahead)
		}
	}
	wantAs[*shared.FollowerError](t, appendError(db))
	if n := head(t, db); n != 4 {
		t.Errorf("%d events are left of 4", n)
	}

	// Filled with this log, it is a copy of it.
	if end, err := shared.Fill(t.Context(), db, log, lease); err != nil || end.Seq != 4 {
		t.Fatalf("fill: %+v, %v", end, err)
	}
	lead(t, log, db, "a")
	appendTo(t, db, 2)
	other := newNode(t, log)
	follow(t, other, 6)
	if diff := cmp.Diff(everything(t, db), everything(t, other)); diff != "" {
		t.Error(diff)
	}
}

func TestNodeWithAnotherLogStopsAndSaysWhere(t *testing.T) {
	t.Parallel()
	log := newShared()
	writer := newNode(t, log)
	lead(t, log, writer, "a")
	appendTo(t, writer, 3)
	path := filepath.Join(t.TempDir(), "other.db")
	other := node(t, log, path)
	follow(t, other, 3)
	appendTo(t, writer, 20)
	closeLog(t, other)

	opts := sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed}
	_, err := sqlite.Open(t.Context(), opts)
	wantAs[*shared.CopyError](t, err)
	opts.Alone = true
	alone, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, alone, 9) // without the shared log: 4 is the first event of its own
	closeLog(t, alone)
	again := node(t, log, path)
	if diverged := wantAs[*shared.DivergedError](t, again.Follow(t.Context())); diverged.Seq != 4 || diverged.Local == diverged.Shared {
		t.Errorf("%+v", diverged)
	}
	if n := head(t, again); n != 12 {
		t.Errorf("%d events are left of 12", n)
	}
}

// The end of a node may be within a record, where the shared log was filled from another one.
func TestFollowerBeginsWithinARecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "part.db")
	part, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, part, 10)
	whole := newShared()
	lease, err := whole.Acquire(t.Context(), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	events := everything(t, part)
	closeLog(t, part)
	full, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "full.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog(t, full)
	if err := full.Restore(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := full.Append(t.Context(), send(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shared.Fill(t.Context(), full, whole, lease); err != nil {
		t.Fatal(err)
	}
	db := node(t, whole, path)
	follow(t, db, 40)
	if diff := cmp.Diff(everything(t, full), everything(t, db)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAppendShared(b *testing.B) {
	for _, with := range []string{"alone", "shared"} {
		b.Run(with, func(b *testing.B) {
			opts := sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")}
			log := newShared()
			if with == "shared" {
				opts.Shared = log
			}
			db, err := sqlite.Open(b.Context(), opts)
			if err != nil {
				b.Fatal(err)
			}
			defer closeLog(b, db)
			if with == "shared" {
				lead(b, log, db, "a")
			}
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if _, err := db.Append(b.Context(), eventstore.StreamAppend{Stream: fmt.Sprint("s", i%100), Events: []eventstore.NewEvent{message(i)}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
