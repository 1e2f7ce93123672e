package monitor

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/run"
	runs "github.com/pronto-lab/openclawd/projections/run"
)

// maxFlowRuns is how many runs of a flow are shown: more than it may take, even if restarts have broken off many.
const maxFlowRuns = 500

// RunsOf lists the runs that a flow has led to, in the order in which they were asked for, those among them that repeat one which a restart
// has broken off.
func RunsOf(ctx context.Context, tx *sql.Tx, jobID string) ([]run.Result, error) {
	list, err := runs.List(ctx, tx, runs.Query{JobID: jobID, Limit: maxFlowRuns})
	slices.Reverse(list)
	return list, err
}
