package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// Promise: full-disk
func TestFullDiskStopsAppendsAndNothingElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	db := open(t, sqlite.Options{Path: path, Now: atEpoch, MaxPages: narrow(t)})
	engine := project(t, db)
	stored := int64(0)
	var err error
	for err == nil && stored < 10_000 {
		if _, err = db.Append(t.Context(), send(int(stored)), send(int(stored)+1)); err == nil {
			stored += 2
		}
	}
	full := wantAs[*eventstore.DiskFullError](t, err)
	if full.Path != path || full.Hint() == "" {
		t.Errorf("refused with %+v", full)
	}
	if got := head(t, db); got != stored {
		t.Errorf("head is %d after %d events were acknowledged", got, stored)
	}
	verify(t, db, stored)
	tables := projectiontest.Dump(t, db, definitions()...)

	for range 3 { // and so it goes on
		_, err := db.Append(t.Context(), to("log", event(`{"long":"`+strings.Repeat("x", 100_000)+`"}`)))
		wantAs[*eventstore.DiskFullError](t, err)
	}
	err = engine.Rebuild(t.Context(), projections.RebuildOptions{})
	wantAs[*eventstore.DiskFullError](t, err)
	verify(t, db, stored)
	if diff := cmp.Diff(tables, projectiontest.Dump(t, db, definitions()...)); diff != "" {
		t.Errorf("tables changed though nothing was stored (-before +after):\n%s", diff)
	}

	if err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("PRAGMA max_page_count = 100000")
		return err
	}, nil); err != nil {
		t.Fatalf("lift the limit: %v", err)
	}
	for range 20 {
		mustAppend(t, db, send(int(stored)))
		stored++
	}
	verify(t, db, stored)
	live := projectiontest.Dump(t, db, definitions()...)
	if err := engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if diff := cmp.Diff(live, projectiontest.Dump(t, db, definitions()...)); diff != "" {
		t.Errorf("tables after the disk was full differ from rebuilt ones (-live +rebuilt):\n%s", diff)
	}
}

// A refusal caused by an event that is then not stored is replaced by the actual reason: the full disk.
func TestFullDiskFailsTheWholeGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), MaxPages: narrow(t)})
		first, other := event(`{"n":1}`), event(`{"n":2}`)
		first.ID, other.ID = id(1), id(1)
		release := occupy(t, db)
		answers := []<-chan answer{
			appendLater(t, db, to("a", first)),
			appendLater(t, db, to("a", other)),
			appendLater(t, db, eventstore.StreamAppend{Stream: "a", Expect: eventstore.NoStream(), Events: []eventstore.NewEvent{event(`{}`)}}),
			appendLater(t, db, to("b", event(`{"long":"`+strings.Repeat("x", 600_000)+`"}`))),
		}
		release()
		for _, a := range answers {
			wantAs[*eventstore.DiskFullError](t, (<-a).err)
		}
		verify(t, db, 0)
		mustAppend(t, db, to("a", other))
		verify(t, db, 1)
	})
}

// narrow is a limit that leaves a fresh log few pages to grow.
func narrow(t testing.TB) int64 {
	t.Helper()
	const pageBytes, more = 4096, 20
	return int64(len(read(t, fillNew(t, 0)))/pageBytes) + more
}
