package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// openHarness makes a store for the conformance suite in a directory of its own.
func openHarness(t testing.TB, now func() time.Time) storetest.Harness {
	return harnessAt(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: now})
}

func harnessAt(t testing.TB, opts sqlite.Options) storetest.Harness {
	t.Helper()
	db, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return storetest.Harness{
		Log: db, Restorer: db, Redact: db.Redact, Close: db.Close,
		Reopen: func(t testing.TB) storetest.Harness { return harnessAt(t, opts) },
	}
}

func TestStore(t *testing.T) { storetest.Run(t, openHarness) }

func TestStoreBehavesLikeItsModel(t *testing.T) { storetest.RunProperty(t, openHarness) }
