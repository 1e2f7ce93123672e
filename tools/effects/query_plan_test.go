package effects

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// What a start looks for costs as much as was left open, however many calls and commands there were.
func TestRecoveryDoesNotWalkAllCalls(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, query := range []string{selectOpen, selectLeft} {
		projectiontest.WantPlan(t, db, "SEARCH u USING PRIMARY KEY (state=?)", query, "a/", "a0")
	}
}
