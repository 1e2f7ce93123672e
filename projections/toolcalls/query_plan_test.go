package toolcalls

import (
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// To list what is open, or unknown, does not walk all calls.
func TestUnsettledCallsHaveATable(t *testing.T) {
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
	projectiontest.WantPlan(t, db, "SEARCH u USING PRIMARY KEY (state=?", selectUnsettled, 9, "tool/", "tool0", "", "", "", StateUnknown, 10)
}
