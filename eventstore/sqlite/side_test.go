package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

func openSide(t *testing.T, path string) *sqlite.Side {
	t.Helper()
	side, err := sqlite.OpenSide(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = side.Close() })
	return side
}

func makeNotes(tx *sql.Tx) error {
	_, err := tx.Exec("CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT)")
	return err
}

// noting adds notes, each of them a page long.
func noting(notes int) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		for range notes {
			if _, err := tx.Exec("INSERT INTO notes (text) VALUES (?)", strings.Repeat("x", 5_000)); err != nil {
				return err
			}
		}
		return nil
	}
}

// notes counts them by reading them.
func notes(ctx context.Context, side *sqlite.Side) (n int, err error) {
	err = side.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM notes WHERE text LIKE '%x'").Scan(&n)
	})
	return n, err
}

// sideOf makes a side file of some notes, and leaves it open.
func sideOf(t *testing.T, path string, count int) *sqlite.Side {
	t.Helper()
	side := openSide(t, path)
	if err := side.Update(t.Context(), makeNotes); err != nil {
		t.Fatal(err)
	}
	if err := side.Update(t.Context(), noting(count)); err != nil {
		t.Fatal(err)
	}
	return side
}

func wantNotes(t *testing.T, side *sqlite.Side, want int) {
	t.Helper()
	if got, err := notes(t.Context(), side); err != nil || got != want {
		t.Errorf("%d notes (%v), want %d", got, err, want)
	}
}

func wantDamaged(t *testing.T, err error) {
	t.Helper()
	if !sqlite.Damaged(err) {
		t.Errorf("error %v, want one that Reset repairs", err)
	}
}

func TestSideKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "side.db")
	side := sideOf(t, path, 3)
	refused := errors.New("refused")
	if err := side.Update(t.Context(), func(tx *sql.Tx) error { return errors.Join(noting(1)(tx), refused) }); !errors.Is(err, refused) {
		t.Errorf("update: %v", err)
	}
	wantNotes(t, side, 3)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want it for its owner only", info.Mode(), err)
	}
	if err := errors.Join(side.Close(), side.Close()); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{side.Update(t.Context(), noting(1)), side.Reset(t.Context(), makeNotes),
		side.View(t.Context(), func(*sql.Tx) error { return nil })} {
		if !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	wantNotes(t, openSide(t, path), 3)
}

func TestSideForReadingOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "side.db")
	if _, err := sqlite.OpenSide(t.Context(), path, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	sideOf(t, path, 1)
	reader, err := sqlite.OpenSide(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	wantNotes(t, reader, 1)
	if err := reader.Update(t.Context(), noting(1)); err == nil || sqlite.Damaged(err) {
		t.Errorf("update: %v", err)
	}
	if err := reader.Reset(t.Context(), makeNotes); err == nil || sqlite.Damaged(err) {
		t.Errorf("reset: %v", err)
	}
	wantNotes(t, reader, 1)
}

// Whatever becomes of the file under a running server: the next update reports that it is damaged, and Reset repairs it.
func TestSideDamagedWhileOpenIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"deleted": func(t *testing.T, path string) { remove(t, path) },
		"all of it deleted": func(t *testing.T, path string) {
			remove(t, path)
			remove(t, path+"-wal")
			remove(t, path+"-shm")
		},
		"replaced by another of ours": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other.db")
			if err := sideOf(t, other, 9).Close(); err != nil {
				t.Fatal(err)
			}
			rename(t, other, path)
		},
		"replaced by none": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other")
			write(t, other, bytes.Repeat([]byte("no database "), 1_000))
			rename(t, other, path)
		},
		"truncated": func(t *testing.T, path string) { truncate(t, path, 0) },
		"cut short": func(t *testing.T, path string) { truncate(t, path, 8_192) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "side.db")
			side := sideOf(t, path, 2)
			for range 3 {
				if err := side.Update(t.Context(), noting(500)); err != nil { // until most of it is in the file, not in the WAL
					t.Fatal(err)
				}
			}
			spoil(t, path)
			wantDamaged(t, side.Update(t.Context(), noting(50)))
			if err := side.Reset(t.Context(), makeNotes); err != nil {
				t.Fatal(err)
			}
			if err := side.Update(t.Context(), noting(4)); err != nil {
				t.Fatal(err)
			}
			wantNotes(t, side, 4)
			if err := side.Close(); err != nil {
				t.Fatal(err)
			}
			wantNotes(t, openSide(t, path), 4)
		})
	}
}

// A foreign file is not removed, and once it is gone the side file works again.
func TestSideReplacedByAForeignFileLeavesItAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "side.db")
	side := sideOf(t, path, 2)
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sqlite.OpenPlain(foreign, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE precious (x)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	rename(t, foreign, path)
	wantDamaged(t, side.Update(t.Context(), noting(1)))
	for range 2 {
		if err := side.Reset(t.Context(), makeNotes); err == nil || sqlite.Damaged(err) {
			t.Fatalf("reset: %v", err)
		}
	}
	if _, err := notes(t.Context(), side); !sqlite.Damaged(err) {
		t.Errorf("view: %v", err)
	}
	rename(t, path, foreign)
	if db, err = sqlite.OpenPlain(foreign, 1); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO precious VALUES (1)"); err != nil {
		t.Errorf("the table that was there: %v", err)
	}
	if err := side.Reset(t.Context(), makeNotes); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, side, 0)
}

// While the file cannot be recreated, readers and writers are told so, and a later Reset repairs it.
func TestSideThatCannotBeRebuiltFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	side := sideOf(t, filepath.Join(dir, "side.db"), 2)
	rename(t, dir, dir+".away") // as where a disk is not mounted any more
	if err := side.Reset(t.Context(), makeNotes); err == nil {
		t.Fatal("rebuilt in a missing directory")
	}
	_, err := notes(t.Context(), side)
	wantDamaged(t, err)
	wantDamaged(t, side.Update(t.Context(), noting(1)))
	rename(t, dir+".away", dir)
	if err := side.Reset(t.Context(), makeNotes); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, side, 0)
}

func TestFullDiskOfASideIsNoDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "side.db")
	side := sideOf(t, path, 2)
	limit := func(pages int) {
		t.Helper()
		if err := side.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(20)
	full := wantAs[*eventstore.DiskFullError](t, side.Update(t.Context(), noting(50)))
	if full.Path != side.Path() {
		t.Errorf("refused with %+v", full)
	}
	wantNotes(t, side, 2)
	limit(1_000)
	if err := side.Update(t.Context(), noting(50)); err != nil {
		t.Fatal(err)
	}
	wantNotes(t, side, 52)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}
