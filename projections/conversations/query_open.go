package conversations

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// Open flows and runs are in the tables of other projections, so they are joined when sessions are read. There are few
// of them, and they have their own indexes. An imported log has none.
const (
	// isBusy tests whether a flow or run of the work session w is open: two index look-ups.
	isBusy = `(EXISTS (SELECT 1 FROM a2a_jobs f WHERE f.work_session_id = w.name AND f.over_seq = 0)
 OR EXISTS (SELECT 1 FROM runs r WHERE r.work_session = w.name AND r.work_session <> '' AND r.over_seq = 0))`

	selectOpenRuns = `SELECT w.id, count(*) FROM json_each(?) j CROSS JOIN work_sessions w ON w.id = j.value
 CROSS JOIN runs r ON r.work_session = w.name AND r.over_seq = 0 AND r.work_session <> '' GROUP BY w.id`
	selectOpenFlows = `SELECT w.id, f.conversation_id, f.phase IN ('dispatching', 'waiting'), count(*) FROM json_each(?) j
 CROSS JOIN work_sessions w ON w.id = j.value CROSS JOIN a2a_jobs f ON f.work_session_id = w.name AND f.over_seq = 0 GROUP BY 1, 2, 3`
)

// loadOpen fills in the open flows and runs of sessions.
func loadOpen(ctx context.Context, tx *sql.Tx, sessions []Session) error {
	at := make(map[int64]*Session, len(sessions))
	ids := make([]int64, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].ID
		at[ids[i]] = &sessions[i]
	}
	if err := eachOpen(ctx, tx, selectOpenRuns, ids, func(rows *sql.Rows) error {
		var id, n int64
		err := rows.Scan(&id, &n)
		if s := at[id]; err == nil {
			s.OpenRuns = n
		}
		return err
	}); err != nil {
		return err
	}
	return eachOpen(ctx, tx, selectOpenFlows, ids, func(rows *sql.Rows) error {
		var id, n int64
		var conversation string
		var waiting bool
		err := rows.Scan(&id, &conversation, &waiting, &n)
		if s := at[id]; err == nil {
			s.recordFlows(conversation, waiting, n)
		}
		return err
	})
}

func eachOpen(ctx context.Context, tx *sql.Tx, query string, ids []int64, visit func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, projections.JSONList(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// recordFlows records n open flows in a conversation, which wait for their first answer or have it.
func (s *Session) recordFlows(conversation string, waiting bool, n int64) {
	if s.OpenFlows += n; s.talking == nil {
		s.talking = map[string]coordination.Outcome{}
	}
	switch {
	case waiting:
		s.talking[conversation] = coordination.OutcomeWaiting
	case s.talking[conversation] == "":
		s.talking[conversation] = coordination.OutcomeActive
	}
}

// keepOpen makes sure that a thread with an open flow does not count as finished, even if another one has ended in it.
// Failures are kept.
func (s *Session) keepOpen(threads []Thread) {
	for i := range threads {
		t := &threads[i]
		stands := s.talking[t.ConversationID()]
		if stands == "" || t.ConversationID() == "" {
			continue
		}
		if !t.Open {
			t.Open = true
			s.OpenThreads++
		}
		if t.Outcome == coordination.OutcomeDone {
			s.ByOutcome[t.Outcome]--
			s.ByOutcome[stands]++
			t.Outcome = stands
		}
	}
}
