package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Gauges for operators: stored, refused and failed appends, the queue, and who holds the WAL.
func TestGaugesCountWhatTheWriterDoes(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range 3 {
		if _, err := db.Append(t.Context(), send(i)); err != nil {
			t.Fatal(err)
		}
	}
	refused := send(3)
	refused.Expect = eventstore.NoStream()
	var conflict *eventstore.ConflictError
	if _, err := db.Append(t.Context(), refused); !errors.As(err, &conflict) {
		t.Fatalf("want a conflict, have %v", err)
	}
	g := db.Gauges()
	if g.Stored != 3 || g.Refused != 1 || g.Failed != 0 || g.Failing != nil || g.QueuedEvents != 0 {
		t.Errorf("%+v", g)
	}
	if g.DatabaseBytes == 0 || g.WALBytes == 0 || g.OldestReader != 0 {
		t.Errorf("%+v", g)
	}
}

func TestGaugesTellTheOldestReader(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(t.Context(), func(*sql.Tx) error {
		if db.Gauges().OldestReader <= 0 {
			t.Error("a reader is not seen while it reads")
		}
		return nil
	})
	if age := db.Gauges().OldestReader; err != nil || age != 0 {
		t.Errorf("after the reader: %s, %v", age, err)
	}
}

// A full disk shows until an append has succeeded again.
func TestGaugesTellOfAFailingFileUntilItRecovers(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), MaxPages: narrow(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var full *eventstore.DiskFullError
	for i := 0; full == nil; i++ {
		if _, err := db.Append(t.Context(), send(i)); err != nil && !errors.As(err, &full) {
			t.Fatal(err)
		}
	}
	if g := db.Gauges(); g.Failed != 1 || !errors.As(g.Failing, &full) {
		t.Errorf("after a full disk: %+v", g)
	}
}
