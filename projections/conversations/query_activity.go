package conversations

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const selectLastActivity = "SELECT last_time FROM work_sessions WHERE name = ?"

// LastActivity returns the time of the newest event of a work session, ms since 1970, within the transaction that is
// going to append. It is as of the last commit at least: events appended by the same transaction may not be included
// yet.
func LastActivity(tx eventstore.Tx, workSessionID string) (ms int64, found bool, err error) {
	if err := eventstore.CatchUp(tx); err != nil {
		return 0, false, err
	}
	return projections.ReadOne(tx, "read last activity of a work session", selectLastActivity, []any{coordination.TrimJS(workSessionID)},
		func(r eventstore.Row) int64 { return int64(projections.ClampTime(r.Float(0))) })
}
