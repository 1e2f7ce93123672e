package backup_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// openLog opens a log with all projections, as the server does. The caller closes it.
func openLog(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	rules := coordination.RulesV2
	if _, err := projections.Start(t.Context(), db, []projections.Definition{conversation.Routes(rules), session.Definition(), index.Definition(rules),
		conversation.Definition(rules)}, projections.Options{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	return db
}

// newLog is a log of n events, open until the test ends.
func newLog(t *testing.T, n int) *sqlite.DB {
	t.Helper()
	db := openLog(t, filepath.Join(t.TempDir(), "log.db"))
	t.Cleanup(func() { _ = db.Close() })
	fill(t, db, n)
	return db
}

func fill(t *testing.T, db *sqlite.DB, n int) {
	t.Helper()
	for i := range n {
		_, err := db.Append(t.Context(), eventstore.StreamAppend{Stream: fmt.Sprint("conversation/c", i%3), Events: []eventstore.NewEvent{{
			Type: coordination.TypeA2ASend, AgentID: "main", Data: fmt.Appendf(nil, `{"workSessionId":"ws_%d","message":"리뷰 %d"}`, i%5, i),
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}
