package search_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/search"
)

// restart closes the search file and opens it as the next process would. between runs while it is closed.
func (b *bundle) restart(t *testing.T, stop func(), between func()) {
	t.Helper()
	stop()
	if err := b.file.Close(); err != nil {
		t.Fatal(err)
	}
	between()
	b.openFile(t)
}

func TestFileThatFitsIsNotFedAgain(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.openFile(t)
	stop := b.feed(t)
	b.append(t, said("첫째 배포"))
	b.await(t)
	// What only this file knows is gone once it is rebuilt.
	if err := b.index.Forget(t.Context(), []int64{1}); err != nil {
		t.Fatal(err)
	}
	b.restart(t, stop, func() { b.append(t, said("둘째 배포")) })
	if at := b.index.Status(); at.Seq != 1 || at.Rebuilding {
		t.Errorf("after a restart: %+v, want to go on at 1", at)
	}
	b.feed(t)
	b.await(t)
	b.wantFound(t, "배포", 2)
	if at := b.index.Status(); at.Seq != 2 || at.Lag() != 0 || at.Err != nil {
		t.Errorf("status %+v", at)
	}
}

func TestMismatchedFileIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, b *bundle){
		"another version": func(t *testing.T, b *bundle) { b.spoil(t, "UPDATE position SET version = '0'") },
		"another log":     func(t *testing.T, b *bundle) { b.spoil(t, "UPDATE position SET hash = zeroblob(32)") },
		"a longer log":    func(t *testing.T, b *bundle) { b.spoil(t, "UPDATE position SET seq = 1000") },
		"without a table": func(t *testing.T, b *bundle) { b.spoil(t, "DROP TABLE docs") },
		"no position":     func(t *testing.T, b *bundle) { b.spoil(t, "DELETE FROM position") },
		"gone":            func(t *testing.T, b *bundle) { b.overwrite(t, nil) },
		"empty":           func(t *testing.T, b *bundle) { b.overwrite(t, []byte{}) },
		"cut short":       func(t *testing.T, b *bundle) { b.overwrite(t, []byte("SQLite format 3\x00")) },
		"no database":     func(t *testing.T, b *bundle) { b.overwrite(t, make([]byte, 8192)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bundle{dir: t.TempDir()}
			b.openLog(t)
			b.openFile(t)
			stop := b.feed(t)
			b.append(t, said("첫째 배포"), said("둘째 리뷰"))
			b.await(t)
			b.restart(t, stop, func() { spoil(t, b) })
			if at := b.index.Status(); at.Seq != 0 || !at.Rebuilding {
				t.Errorf("status %+v, want a restart from 0", at)
			}
			b.feed(t)
			b.await(t)
			b.wantFound(t, "배포", 1)
			b.wantFound(t, "리뷰", 2)
		})
	}
}

// spoil changes the closed file as a foreign hand would.
func (b *bundle) spoil(t *testing.T, statement string) {
	t.Helper()
	file, err := sqlite.OpenSide(t.Context(), b.filePath(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// overwrite puts something else in the place of the closed file; nil is nothing.
func (b *bundle) overwrite(t *testing.T, content []byte) {
	t.Helper()
	err := os.Remove(b.filePath())
	if err == nil && content != nil {
		err = os.WriteFile(b.filePath(), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Pages that are damaged under a running index are noticed by their readers, and repaired by the feeder.
func TestDamagedFileIsRebuiltWhileRunning(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.openFile(t)
	stop := b.feed(t)
	for i := range 60 {
		b.append(t, said(fmt.Sprintf("배포 %d 회 로그 %x", i, i*7919)))
	}
	b.await(t)
	b.restart(t, stop, func() {
		b.spoil(t, "DELETE FROM texts_data WHERE id > 10")
	})
	b.feed(t)
	query := search.Query{Words: words(t, "배포"), Limit: 100}
	var hits search.Hits
	for len(hits.Seqs) != 60 {
		err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
			hits, err = search.Find(t.Context(), tx, query)
			return err
		})
		var corrupt *eventstore.CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			t.Fatal(err)
		}
		b.await(t)
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db-search.db")
	foreign, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Exec("CREATE TABLE precious (x)"); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Close(); err != nil {
		t.Fatal(err)
	}
	var corrupt *eventstore.CorruptError
	if _, err := sqlite.OpenSide(t.Context(), path, false); !errors.As(err, &corrupt) {
		t.Errorf("opening it: %v", err)
	}
	if again, err := sqlite.OpenPlain(path, 1); err != nil {
		t.Error(err)
	} else {
		defer again.Close()
		if _, err := again.Exec("INSERT INTO precious VALUES (1)"); err != nil {
			t.Errorf("the table that was there: %v", err)
		}
	}
}
