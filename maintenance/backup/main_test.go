package backup_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), sessions.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

// newLog returns a log of n events, which is closed when the test ends.
func newLog(t *testing.T, n int) *sqlite.DB {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, definitions()...)
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
