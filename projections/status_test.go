package projections_test

import (
	"database/sql"
	"testing"

	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func statusesOf(t testing.TB, log projectiontest.Viewer) map[string]projections.Status {
	t.Helper()
	byName := map[string]projections.Status{}
	err := log.View(t.Context(), func(tx *sql.Tx) error {
		list, err := projections.List(t.Context(), tx)
		for _, s := range list {
			byName[s.Name] = s
		}
		return err
	})
	if err != nil {
		t.Fatalf("list projections: %v", err)
	}
	return byName
}
