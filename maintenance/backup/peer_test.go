package backup_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// follow lets a node follow a shared log until stop.
func follow(t *testing.T, db *sqlite.DB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Follow(ctx) }()
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("follow: %v", err)
		}
	}
}

// A new node is seeded from a backup that another one made while it followed, or fills itself, and then has the same
// log and tables as the others. A backup of another log is refused, and left as it is.
func TestANewNodeIsSeededFromABackupOfAPeer(t *testing.T) {
	t.Parallel()
	log := sharedtest.NewMemory(time.Now)
	writer, _ := projectiontest.New(t, sqlite.Options{Shared: log}, definitions()...)
	lease, err := log.Acquire(t.Context(), "a", time.Hour)
	if err == nil {
		err = writer.Lead(t.Context(), lease)
	}
	if err != nil {
		t.Fatal(err)
	}
	peer, _ := projectiontest.New(t, sqlite.Options{Shared: log}, definitions()...)
	stop := follow(t, peer)
	fill(t, writer, 300)
	if _, err := peer.Wait(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	made := create(t, peer, filepath.Join(t.TempDir(), "backups"), noon)
	fill(t, writer, 100)
	reach := func(db *sqlite.DB) {
		t.Helper()
		if _, err := db.Wait(t.Context(), 400); err != nil {
			t.Fatal(err)
		}
	}
	reach(peer)
	stop()

	path, manifest, err := backup.Restore(t.Context(), made.File, filepath.Join(t.TempDir(), "node"), "openclawd.db", atNoon, nil)
	if err != nil || manifest.Seq < 100 || manifest.Seq > 400 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	want := projectiontest.Dump(t, writer, definitions()...)
	for name, opts := range map[string]sqlite.Options{"seeded": {Path: path, Shared: log}, "empty": {Path: filepath.Join(t.TempDir(), "new.db"), Shared: log}} {
		db, _ := projectiontest.Open(t, opts, definitions()...)
		stop := follow(t, db)
		reach(db)
		stop()
		head, err := db.Head(t.Context())
		if end, _ := log.Head(t.Context()); err != nil || head.Seq != end.Seq || head.Hash != end.Hash {
			t.Errorf("%s: the head is %+v, want %+v: %v", name, head, end, err)
		}
		if diff := cmp.Diff(want, projectiontest.Dump(t, db, definitions()...)); diff != "" {
			t.Errorf("%s (-writer +this):\n%s", name, diff)
		}
	}

	stranger, _ := projectiontest.New(t, sqlite.Options{}, definitions()...)
	fill(t, stranger, 50)
	other := create(t, stranger, filepath.Join(t.TempDir(), "backups"), noon)
	path, _, err = backup.Restore(t.Context(), other.File, filepath.Join(t.TempDir(), "node"), "openclawd.db", atNoon, nil)
	if err != nil {
		t.Fatal(err)
	}
	db, _ := projectiontest.Open(t, sqlite.Options{Path: path, Shared: log}, definitions()...)
	if err, diverged := db.Follow(t.Context()), new(shared.DivergedError); !errors.As(err, &diverged) || diverged.Seq != 1 {
		t.Errorf("a backup of another log: %v", err)
	}
	if head, err := db.Head(t.Context()); err != nil || head.Seq != 50 {
		t.Errorf("it was changed: %+v, %v", head, err)
	}
}
