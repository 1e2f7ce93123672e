package conversation

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const selectLastActivity = "SELECT last_time FROM work_sessions WHERE name = ?"

// LastActivity is the time of the newest event of a work session, ms since 1970, within the transaction that is going to append. It is as of
// the last commit at least: what is appended together with the decision may not be in it yet.
func LastActivity(tx eventstore.Tx, workSessionID string) (ms int64, found bool, err error) {
	err = tx.Query(selectLastActivity, []any{coordination.TrimJS(workSessionID)}, func(r eventstore.Row) error {
		ms, found = int64(projections.ClampTime(r.Float(0))), true
		return nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("look when a work session was last active: %w", err)
	}
	return ms, found, nil
}
