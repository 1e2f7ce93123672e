package monitor

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// maxFlowRuns is how many runs of a flow are shown: more than it may have, even with many interrupted by restarts.
const maxFlowRuns = 500

// RunsOf lists a flow's runs in the order requested, including repetitions of runs interrupted by a restart.
func RunsOf(ctx context.Context, tx *sql.Tx, jobID string) ([]run.Result, error) {
	list, err := runs.List(ctx, tx, runs.Query{JobID: jobID, Limit: maxFlowRuns})
	slices.Reverse(list)
	return list, err
}
