package journal_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/journal"
)

func TestMain(m *testing.M) {
	testscale.Checks(8, 40)
	goleak.VerifyTestMain(m)
}

// file is one with tables.
type file struct{ *sqlite.DB }

func openFile(t testing.TB) *file {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tables.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &file{db}
}

// Update makes it a target of folds.
func (f *file) Update(ctx context.Context, job func(eventstore.Tx) error) error {
	return f.Exclusive(ctx, job, nil)
}

// update fails the test where update of the file fails.
func update(t testing.TB, f projections.Target, job func(eventstore.Tx) error) {
	t.Helper()
	if err := f.Update(context.Background(), job); err != nil {
		t.Fatal(err)
	}
}

func exec(t testing.TB, f projections.Target, query string, args ...any) {
	t.Helper()
	update(t, f, func(tx eventstore.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

func changes(t testing.TB, f projections.Target, seq int64) (list []compare.Change) {
	t.Helper()
	update(t, f, func(tx eventstore.Tx) (err error) {
		list, err = journal.Changes(tx, seq)
		return err
	})
	return list
}

// differences are what compare finds.
func differences(t testing.TB, before, after compare.Viewer, defs []projections.Definition) []compare.Change {
	t.Helper()
	list := []compare.Change{}
	if _, err := compare.Tables(context.Background(), before, after, defs, func(c compare.Change) error {
		list = append(list, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}
