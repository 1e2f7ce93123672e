package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	sqlite3driver "modernc.org/sqlite"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestForeignFileIsRefusedAndUnchanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"text", func(t *testing.T, path string) { write(t, path, bytes.Repeat([]byte("no database\n"), 500)) }},
		{"few bytes", func(t *testing.T, path string) { write(t, path, []byte("x")) }},
		{"zeros", func(t *testing.T, path string) { write(t, path, make([]byte, 8192)) }},
		{"another program's database", func(t *testing.T, path string) {
			makePlain(t, path, "PRAGMA application_id = 77", "CREATE TABLE bookmarks (url TEXT)")
		}},
		{"another program's empty database", func(t *testing.T, path string) {
			makePlain(t, path, "PRAGMA application_id = 77", "CREATE TABLE t (x)", "DROP TABLE t")
		}},
		{"a foreign database", func(t *testing.T, path string) { makePlain(t, path, "CREATE TABLE events (url TEXT)") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log.db")
			tt.make(t, path)
			before := read(t, path)
			for _, opts := range []sqlite.Options{{Path: path}, {Path: path, ReadOnly: true}} {
				db, err := sqlite.Open(t.Context(), opts)
				if err == nil {
					closeLog(t, db)
				}
				wantHint(t, err)
			}
			if !bytes.Equal(before, read(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	for _, opts := range []sqlite.Options{{Path: t.TempDir()}, {Path: t.TempDir(), ReadOnly: true}, {}} {
		_, err := sqlite.Open(t.Context(), opts)
		if bad := wantAs[*eventstore.InvalidError](t, err); bad.Field != "db" {
			t.Errorf("field is %q", bad.Field)
		}
	}
}

func TestTruncatedFileIsRefused(t *testing.T) {
	t.Parallel()
	whole := read(t, fillNew(t, 50))
	for _, size := range []int{1, 99, 4096, 4097, len(whole) / 2, len(whole) - 4096, len(whole) - 1} {
		path := filepath.Join(t.TempDir(), "log.db")
		write(t, path, whole[:size])
		wantHint(t, openAndVerify(t, path))
	}
}

// A page of zeros is found at the latest by Verify, wherever it lies.
func TestPageOfZerosIsFound(t *testing.T) {
	t.Parallel()
	const page = 4096
	whole := read(t, fillNew(t, 50))
	for at := 0; at < len(whole); at += page * testscale.Of(6, 1) {
		damaged := bytes.Clone(whole)
		clear(damaged[at : at+page])
		path := filepath.Join(t.TempDir(), "log.db")
		write(t, path, damaged)
		if err := openAndVerify(t, path); err == nil {
			t.Errorf("page %d of %d is zeros, which was not noticed", at/page+1, len(whole)/page)
		} else {
			wantHint(t, err)
		}
	}
}

// openAndVerify is what opening a file for reading, else verifying it, finds.
func openAndVerify(t *testing.T, path string) error {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Verify(t.Context(), false, nil)
	return err
}

func TestDamagedEndIsRefused(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 10)
	alter(t, path, "DROP TRIGGER events_are_only_blanked", "UPDATE events SET type = 'forged' WHERE seq = 9")
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	wantHint(t, err)
}

func TestPathIsNeverReadAsAnythingElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?mode=ro.db", "a#b.db", "100%.db", "%41.db", "with space.db", "기록 ?#%25&vfs=x.db", "a;b'\"c.db", "file:x.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "새 "+name)
			path := filepath.Join(dir, name)
			db := open(t, sqlite.Options{Path: path})
			mustAppend(t, db, send(0))
			if db.Path() != path {
				t.Errorf("path is %q, want %q", db.Path(), path)
			}
			closeLog(t, db)
			verify(t, open(t, sqlite.Options{Path: path, ReadOnly: true}), 1)
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if base := filepath.Base(f); base != name && base != name+".lock" && base != name+"-wal" && base != name+"-shm" {
					t.Errorf("there is a file %q", base)
				}
			}
		})
	}
}

// Opening and closing the file outside SQLite drops all POSIX locks of the process. Another process that then
// closes the database removes the WAL, and later commits of this process are lost.
func TestForeignHandleCostsNoCommit(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	if runtime.GOOS == "linux" && !sqlite3driver.OFDLockingEnabled() {
		t.Error("locks belong to the process, not to the open file")
	}
	for i := range 5 {
		mustAppend(t, db, send(i))
		f, err := os.Open(db.Path())
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		// Another process comes and goes.
		if got := elsewhere(t, db.Path(), "SELECT count(*) FROM events"); got != string(rune('1'+i)) {
			t.Fatalf("another process sees %s events of %d", got, i+1)
		}
	}
	closeLog(t, db)
	verify(t, open(t, sqlite.Options{Path: db.Path()}), 5)
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, send(0))
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(db.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if perm := info.Mode().Perm(); perm != 0o600 {
			t.Errorf("log.db%s has mode %v, want 0600", suffix, perm)
		}
	}
}

func TestDurabilityIsReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ given, want sqlite.Durability }{
		{"", sqlite.DurabilityFull}, {sqlite.DurabilityFull, sqlite.DurabilityFull}, {sqlite.DurabilityRelaxed, sqlite.DurabilityRelaxed},
	} {
		db := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: tt.given})
		if db.Durability() != tt.want {
			t.Errorf("durability %q is reported as %q", tt.given, db.Durability())
		}
	}
}

// makePlain makes a SQLite file that is not ours, in the ordinary journal mode.
func makePlain(t *testing.T, path string, statements ...string) {
	t.Helper()
	alter(t, path, append(statements, "PRAGMA journal_mode = DELETE")...)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
