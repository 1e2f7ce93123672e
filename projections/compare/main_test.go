package compare_test

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
)

func TestMain(m *testing.M) {
	testscale.Checks(15, 60)
	goleak.VerifyTestMain(m)
}

// tables are of every kind that folds write, and of some that they do not.
var tables = []string{
	`CREATE TABLE plain (a ANY, id INTEGER PRIMARY KEY, "order" TEXT, size REAL) STRICT`,
	`CREATE TABLE paired (value ANY, second ANY NOT NULL, first ANY NOT NULL, PRIMARY KEY (first, second)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE named (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
	`CREATE TABLE hashed (hash BLOB PRIMARY KEY, n INTEGER) STRICT`,
}

var defs = []projections.Definition{{Name: "one", Tables: []string{"plain", "paired"}}, {Name: "other", Tables: []string{"named", "hashed"}}}

// file makes a file with the tables, and others after them.
func file(t testing.TB, others ...string) *sqlite.DB {
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
	for _, ddl := range append(tables, others...) {
		exec(t, db, ddl)
	}
	return db
}

func exec(t testing.TB, db *sqlite.DB, query string, args ...any) {
	t.Helper()
	update(t, db, func(tx eventstore.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

func update(t testing.TB, db *sqlite.DB, job func(eventstore.Tx) error) {
	t.Helper()
	if err := db.Exclusive(context.Background(), job, nil); err != nil {
		t.Fatal(err)
	}
}

// differences are what Tables tells.
func differences(t testing.TB, before, after compare.Viewer, defs []projections.Definition) ([]compare.Count, []compare.Change) {
	t.Helper()
	changes := []compare.Change{}
	counts, err := compare.Tables(context.Background(), before, after, defs, func(c compare.Change) error {
		changes = append(changes, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts, changes
}
