package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func create(t *testing.T, log backup.Source, dir string, at time.Time) *backup.Backup {
	t.Helper()
	b, err := backup.Create(t.Context(), backup.CreateOptions{Log: log, Dir: dir, Now: func() time.Time { return at }, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A backup made during appends is a consistent state of the log: complete, verified, and found again by its name.
//
// Promise: restore
func TestBackupOfALiveLogIsOneMoment(t *testing.T) {
	t.Parallel()
	db := newLog(t, 200)
	ctx, stop := context.WithCancel(t.Context())
	var appending sync.WaitGroup
	appending.Go(func() {
		for ctx.Err() == nil {
			fill(t, db, 1)
		}
	})
	dir := filepath.Join(t.TempDir(), "backups")
	b := create(t, db, dir, noon)
	stop()
	appending.Wait()
	if b.Seq < 200 || b.Manifest.Seq != b.Seq || b.Manifest.Head.String() == "" || b.Manifest.Schema == 0 {
		t.Errorf("%+v %+v", b, b.Manifest)
	}
	if name := filepath.Base(b.File); !strings.HasPrefix(name, "openclawd-20260220T120000Z-") || filepath.Ext(name) != ".db" {
		t.Errorf("named %s", name)
	}
	list, err := backup.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]backup.Backup{*b}, list); diff != "" {
		t.Errorf("-made +listed:\n%s", diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 && !strings.HasSuffix(entry.Name(), ".lock") {
			t.Errorf("others may read %s: %v %v", entry.Name(), info.Mode(), err)
		}
		if strings.Contains(entry.Name(), "unverified") {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

// Any change of a backup after it was made is found.
func TestVerifyFindsWhatWasChanged(t *testing.T) {
	t.Parallel()
	db := newLog(t, 50)
	mismatch := func(err error) bool { return errors.As(err, new(*backup.MismatchError)) }
	tampered := func(err error) bool { return errors.As(err, new(*sqlite.TamperError)) }
	for name, change := range map[string]struct {
		do   func(t *testing.T, file string)
		want func(error) bool
	}{
		"a byte more": {func(t *testing.T, file string) {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(make([]byte, 4096))
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, mismatch},
		"an event": {func(t *testing.T, file string) {
			exec(t, file, "DROP TRIGGER events_are_only_blanked", "UPDATE events SET data = '{}' WHERE seq = 7")
		}, tampered},
		"the newest event": {func(t *testing.T, file string) {
			exec(t, file, "DROP TRIGGER events_are_never_deleted", "DELETE FROM events WHERE seq = 50")
		}, tampered},
		"another backup under its name": {func(t *testing.T, file string) {
			other := create(t, newLog(t, 50), t.TempDir(), noon)
			text, err := os.ReadFile(other.File)
			if err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, mismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := create(t, db, t.TempDir(), noon)
			if _, err := backup.Verify(t.Context(), b.File, atNoon, nil); err != nil {
				t.Fatalf("unchanged: %v", err)
			}
			change.do(t, b.File)
			if _, err := backup.Verify(t.Context(), b.File, atNoon, nil); !change.want(err) {
				t.Errorf("changed: %v", err)
			}
		})
	}
}

// exec changes a file as another program would.
func exec(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sqlite.OpenPlain(file, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(statements, "PRAGMA journal_mode = DELETE") {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNotesWhenItWas(t *testing.T) {
	t.Parallel()
	b := create(t, newLog(t, 5), t.TempDir(), noon)
	later := noon.Add(40 * 24 * time.Hour)
	if _, err := backup.Verify(t.Context(), b.File, func() time.Time { return later }, nil); err != nil {
		t.Fatal(err)
	}
	newest, err := backup.Newest(filepath.Dir(b.File))
	if err != nil || !newest.Manifest.VerifiedAt.Equal(later) || !newest.Manifest.CreatedAt.Equal(noon) || newest.Manifest.Version != "test" {
		t.Errorf("%+v, %v", newest, err)
	}
}

// A database in use is not a backup: its file alone is incomplete.
func TestVerifyRefusesALiveDatabase(t *testing.T) {
	t.Parallel()
	var live *backup.LiveError
	if _, err := backup.Verify(t.Context(), newLog(t, 5).Path(), atNoon, nil); !errors.As(err, &live) {
		t.Errorf("%v", err)
	}
}

func TestPruneKeepsTheNewestAndWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	db, dir := newLog(t, 3), t.TempDir()
	var made []string
	for day := range 5 {
		made = append(made, create(t, db, dir, noon.AddDate(0, 0, day)).File)
	}
	bare := filepath.Join(dir, "openclawd-20250101T000000Z-1.db") // named like a backup, without a manifest
	foreign := filepath.Join(dir, "notes.db")
	for _, file := range []string{bare, foreign} {
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := backup.Prune(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{made[2], made[1], made[0]}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	for _, file := range []string{made[3], made[4], bare, foreign} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(strings.TrimSuffix(made[0], ".db") + ".json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a manifest without its backup: %v", err)
	}
}

// Two runs in one directory would remove each other's unfinished copies.
func TestBackupsOfOneDirectoryDoNotMeet(t *testing.T) {
	t.Parallel()
	db, dir := newLog(t, 3), t.TempDir()
	var locked *eventstore.LockedError
	inside := false
	create(t, sourceFunc(func(ctx context.Context, target string) error {
		inside = true
		_, err := backup.Create(ctx, backup.CreateOptions{Log: db, Dir: dir, Now: atNoon})
		if !errors.As(err, &locked) {
			t.Errorf("a second run: %v", err)
		}
		return db.Backup(ctx, target)
	}), dir, noon)
	if !inside {
		t.Error("the copy was not requested")
	}
}

type sourceFunc func(ctx context.Context, target string) error

func (f sourceFunc) Backup(ctx context.Context, target string) error { return f(ctx, target) }

// A killed run leaves a copy without a name; the next run removes it. A cancelled one removes its own.
func TestUnfinishedCopiesDoNotStay(t *testing.T) {
	t.Parallel()
	db, dir := newLog(t, 3), t.TempDir()
	left := filepath.Join(dir, ".openclawd-20260101T000000Z.unverified.part")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	_, err := backup.Create(ctx, backup.CreateOptions{Log: sourceFunc(func(ctx context.Context, target string) error {
		defer stop() // cancelled right after the copy
		return db.Backup(ctx, target)
	}), Dir: dir, Now: atNoon})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 { // the lock
		t.Errorf("left: %v, %v", entries, err)
	}
}

// Restore never overwrites anything, and does not restore a backup that fails verification.
func TestRestoreWritesOverNothing(t *testing.T) {
	t.Parallel()
	b := create(t, newLog(t, 20), t.TempDir(), noon)
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var invalid *eventstore.InvalidError
	if _, _, err := backup.Restore(t.Context(), b.File, occupied, "x.db", atNoon, nil); !errors.As(err, &invalid) || invalid.Field != "to" {
		t.Errorf("into a directory with a file: %v", err)
	}
	target := filepath.Join(t.TempDir(), "new")
	path, m, err := backup.Restore(t.Context(), b.File, target, "x.db", atNoon, nil)
	if err != nil || path != filepath.Join(target, "x.db") || m.Seq != 20 {
		t.Fatalf("%s %+v %v", path, m, err)
	}
	if _, _, err := backup.Restore(t.Context(), b.File, target, "x.db", atNoon, nil); !errors.As(err, &invalid) {
		t.Errorf("twice: %v", err)
	}
	exec(t, b.File, "DROP TRIGGER events_are_only_blanked")
	broken := filepath.Join(t.TempDir(), "broken")
	if _, _, err := backup.Restore(t.Context(), b.File, broken, "x.db", atNoon, nil); err == nil {
		t.Error("a changed backup was restored")
	}
	if _, err := os.Stat(broken); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed restore has left files: %v", err)
	}
	restored, _ := projectiontest.Open(t, sqlite.Options{Path: path}, definitions()...)
	fill(t, restored, 1)
	if head, err := restored.Head(t.Context()); err != nil || head.Seq != 21 {
		t.Errorf("appending fails after a restore: %+v, %v", head, err)
	}
}
