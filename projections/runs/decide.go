package runs

import (
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectResult = `SELECT CASE r.run_id WHEN '' THEN r.name ELSE r.run_id END, r.session_key, r.session_id, r.agent, r.lane, r.cause, r.state,
 r.queued_at, r.started_at, r.ended_at, r.id, r.retry_of, r.job, r.work_session, r.conversation, r.parent_run`

	selectLoad = selectResult + ` FROM runs r WHERE r.name = ?`
	selectOpen = selectResult + ` FROM runs r WHERE r.session_key = ? AND r.over_seq = 0 ORDER BY r.place, r.id`
)

// Load reads a run for a decision, within the transaction that is going to append. Over is not read.
func Load(tx eventstore.Tx, runID string) (r run.Result, found bool, err error) {
	return projections.ReadOne(tx, "load run", selectLoad, []any{nameOf(runID)}, scan)
}

// OpenOf returns the open runs of a session, within the transaction that is going to append, in queue order: a retry
// of an interrupted run takes that one's place. Its cost does not depend on the number of finished runs.
func OpenOf(tx eventstore.Tx, sessionKey string) (open []run.Result, err error) {
	return projections.ReadAll(tx, "load open runs", selectOpen, []any{sessionKey}, scan)
}

// results is the number of columns of selectResult.
const results = 16

func scan(r eventstore.Row) run.Result {
	return run.Result{
		RunID: r.Text(0), SessionKey: r.Text(1), SessionID: r.Text(2), AgentID: r.Text(3), Lane: r.Text(4), Cause: r.Text(5), State: run.State(r.Text(6)),
		QueuedAt: r.Int(7), StartedAt: r.Int(8), EndedAt: r.Int(9), Seq: r.Int(10), RetryOf: r.Text(11),
		JobID: r.Text(12), WorkSessionID: r.Text(13), ConversationID: r.Text(14), ParentRunID: r.Text(15),
	}
}
