package run

import (
	"fmt"

	decide "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	selectResult = `SELECT CASE r.run_id WHEN '' THEN r.name ELSE r.run_id END, r.session_key, r.session_id, r.agent, r.lane, r.cause, r.state,
 r.queued_at, r.started_at, r.ended_at, r.id, r.retry_of, r.job, r.work_session, r.conversation, r.parent_run`

	selectLoad = selectResult + ` FROM runs r WHERE r.name = ?`
	selectOpen = selectResult + ` FROM runs r WHERE r.session_key = ? AND r.over_seq = 0 ORDER BY r.place, r.id`
)

// Load gives what a decision has to know of a run, within the transaction that is going to append. Over is not read.
func Load(tx eventstore.Tx, runID string) (r decide.Result, found bool, err error) {
	err = tx.Query(selectLoad, []any{nameOf(runID)}, func(row eventstore.Row) error {
		r, found = scan(row), true
		return nil
	})
	if err != nil {
		return decide.Result{}, false, fmt.Errorf("load run: %w", err)
	}
	return r, found, nil
}

// OpenOf gives the runs of a session that are not over, within the transaction that is going to append, in the order in which they have
// their turn: what repeats a run that was broken off comes where that was. What it costs does not depend on how many are over.
func OpenOf(tx eventstore.Tx, sessionKey string) (open []decide.Result, err error) {
	err = tx.Query(selectOpen, []any{sessionKey}, func(row eventstore.Row) error {
		open = append(open, scan(row))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load open runs: %w", err)
	}
	return open, nil
}

// results is how many columns selectResult has.
const results = 16

func scan(r eventstore.Row) decide.Result {
	return decide.Result{
		RunID: r.Text(0), SessionKey: r.Text(1), SessionID: r.Text(2), AgentID: r.Text(3), Lane: r.Text(4), Cause: r.Text(5), State: decide.State(r.Text(6)),
		QueuedAt: r.Int(7), StartedAt: r.Int(8), EndedAt: r.Int(9), Seq: r.Int(10), RetryOf: r.Text(11),
		JobID: r.Text(12), WorkSessionID: r.Text(13), ConversationID: r.Text(14), ParentRunID: r.Text(15),
	}
}
