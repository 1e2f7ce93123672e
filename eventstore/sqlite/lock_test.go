package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

func TestSecondWriterIsRefused(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 3)
	pid, kill := holdOpen(t, path)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"same path": path, "through a link": link} {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err == nil {
			closeLog(t, db)
		}
		locked := wantAs[*eventstore.LockedError](t, err)
		if !strings.Contains(locked.Owner, fmt.Sprint(pid)) || !strings.Contains(locked.Owner, "the other one") || locked.Hint() == "" {
			t.Errorf("%s: owner is %q, hint %q; want the process %d and its name", name, locked.Owner, locked.Hint(), pid)
		}
	}
	verify(t, open(t, sqlite.Options{Path: path, ReadOnly: true}), 3)

	kill()
	verify(t, open(t, sqlite.Options{Path: path}), 3)
}

func TestSecondWriterInTheSameProcessIsRefused(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: db.Path()})
	wantAs[*eventstore.LockedError](t, err)
	mustAppend(t, db, send(0))
	closeLog(t, db)
	again := open(t, sqlite.Options{Path: db.Path()})
	verify(t, again, 1)
}

func TestLockFileOfTheDeadDoesNotBlock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path+".lock", []byte("pid 1, other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify(t, open(t, sqlite.Options{Path: path}), 0)
}

func TestReadersBesideAWriterSeeWhatItAppends(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, send(0))
	reader := open(t, sqlite.Options{Path: db.Path(), ReadOnly: true})
	if got := head(t, reader); got != 1 {
		t.Fatalf("the reader begins at %d, want 1", got)
	}
	mustAppend(t, db, send(1))
	if got, err := reader.Wait(t.Context(), 2); err != nil || got != 2 {
		t.Fatalf("Wait(2) = %d, %v", got, err)
	}
	verify(t, reader, 2)
	if _, err := reader.Append(t.Context(), send(2)); err == nil {
		t.Error("a log that is open for reading took an append")
	}
	for name, write := range map[string]func() error{
		"Decide":    func() error { _, err := reader.Decide(t.Context(), nil); return err },
		"Restore":   func() error { return reader.Restore(t.Context(), nil) },
		"Redact":    func() error { return reader.Redact(t.Context(), 1) },
		"Exclusive": func() error { return reader.Exclusive(t.Context(), nil, nil) },
	} {
		if write() == nil {
			t.Errorf("%s was taken by a log that is open for reading", name)
		}
	}
}

func TestReadingNeedsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true}); err == nil {
		t.Fatal("a file that is not there was opened")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("reading made the file")
	}
}
