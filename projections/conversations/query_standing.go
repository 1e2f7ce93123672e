package conversations

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// storedOutcome is the outcome of session w by its own counts, and the expression of the index work_sessions_by_outcome. An open flow or
// run may change active and done.
const storedOutcome = `CASE WHEN w.blocked_n > 0 OR w.blocked_tasks > 0 THEN 'blocked' WHEN w.no_reply_n > 0 THEN 'no_reply'
 WHEN w.waiting_n > 0 THEN 'waiting' WHEN w.active_n > 0 OR w.open_tasks > 0 THEN 'active' WHEN w.done_n > 0 OR w.latest_terminal THEN 'done' ELSE 'active' END`

// By which sessions with an outcome, an agent or something open are found: by indexes. All that is open is little.
const (
	selectByOutcome = "SELECT w.id FROM json_each(?) j CROSS JOIN work_sessions w ON " + storedOutcome + " = j.value"
	selectByMember  = "SELECT m.session_id FROM json_each(?) j CROSS JOIN session_members m ON m.agent = j.value"
	selectByOpen    = "SELECT w.id FROM work_sessions w WHERE (w.open_threads + w.open_tasks + w.blocked_tasks > 0) = 1"
	selectByFlow    = "SELECT w.id FROM a2a_jobs f CROSS JOIN work_sessions w ON w.name = f.work_session_id WHERE f.over_seq = 0"
	selectByRun     = `SELECT w.id FROM runs r CROSS JOIN work_sessions w ON w.name = r.work_session
 WHERE r.over_seq = 0 AND r.work_session <> '' AND r.work_session > ''`

	selectStanding = `SELECT w.id, w.base_time, w.last_time, w.category, w.latest_terminal, w.open_threads + w.open_tasks > 0,
 w.open_threads + w.open_tasks + w.blocked_tasks > 0, ` + isBusy + `, ` + storedOutcome + `,
 EXISTS (SELECT 1 FROM json_each(?) j CROSS JOIN session_members m ON m.agent = j.value AND m.session_id = w.id), w.kinds
 FROM json_each(?) j CROSS JOIN work_sessions w ON w.id = j.value`
)

// standing is what the filters on outcome, agents and open work of a query need to know about a candidate.
type standing struct {
	outcome coordination.Outcome
	busy    bool // a flow or run is open
	open    bool // so is a conversation, task, flow or run
	member  bool // one of the query's agents takes part
}

// filtersStanding reports whether the query has a filter on outcome, agents or open work.
func (q *Query) filtersStanding() bool {
	return len(q.Outcomes) > 0 || len(q.Agents) > 0 || q.Open != nil
}

func (q *Query) passesStanding(s *standing) bool {
	return allows(q.Outcomes, s.outcome) && (len(q.Agents) == 0 || s.member) && (q.Open == nil || *q.Open == s.open)
}

// narrowed reports whether such a filter selects sessions by an index. Those without open work are too many for one.
func (q *Query) narrowed() bool {
	return len(q.Outcomes) > 0 || len(q.Agents) > 0 || q.Open != nil && *q.Open
}

// indexed visits the sessions that the most selective of these filters allows, and maybe more.
func (s *search) indexed(ctx context.Context, visit func(*candidate)) error {
	q := s.query
	usual := slices.Contains(q.Outcomes, coordination.OutcomeDone) || slices.Contains(q.Outcomes, coordination.OutcomeActive)
	switch {
	case q.Open != nil && *q.Open:
		return s.opened(ctx, visit)
	case len(q.Agents) > 0 && (usual || len(q.Outcomes) == 0):
		return s.found(ctx, visit, lookUp{selectByMember, []any{projections.JSONList(members(q.Agents))}})
	}
	words := make([]string, len(q.Outcomes))
	for i, o := range q.Outcomes {
		words[i] = string(o)
	}
	return s.found(ctx, visit, lookUp{selectByOutcome, []any{projections.JSONList(words)}}, lookUp{selectByFlow, nil}, lookUp{selectByRun, nil})
}

// opened visits the sessions of which something is open.
func (s *search) opened(ctx context.Context, visit func(*candidate)) error {
	return s.found(ctx, visit, lookUp{selectByOpen, nil}, lookUp{selectByFlow, nil}, lookUp{selectByRun, nil})
}

func members(agents []string) []string {
	ids := make([]string, len(agents))
	for i, agent := range agents {
		ids[i] = MemberID(agent)
	}
	return ids
}

// lookUp is a query for ids of work sessions.
type lookUp struct {
	query string
	args  []any
}

// found visits the sessions of some queries once.
func (s *search) found(ctx context.Context, visit func(*candidate), queries ...lookUp) error {
	var ids []int64
	for _, q := range queries {
		err := eachRow(ctx, s.tx, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		}, q.query, q.args...)
		if err != nil {
			return fmt.Errorf("look up sessions: %w", err)
		}
	}
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), candidatesAtOnce) {
		if err := s.readCandidates(ctx, some, visit); err != nil {
			return err
		}
	}
	return nil
}

func eachRow(ctx context.Context, tx *sql.Tx, visit func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
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

// readStanding reads the candidates of sessions with what the filters on them need.
func (s *search) readStanding(ctx context.Context, ids []int64, visit func(*candidate)) error {
	var list []candidate
	err := eachRow(ctx, s.tx, func(rows *sql.Rows) error {
		var c candidate
		var base float64
		var kinds string
		at := &c.standing
		if err := rows.Scan(&c.id, &base, &c.last, &c.category, &c.terminal, &c.open, &at.open, &at.busy, &at.outcome, &at.member, &kinds); err != nil {
			return err
		}
		c.open, at.open = c.open || at.busy, at.open || at.busy
		list = append(list, c)
		return s.list(&list[len(list)-1], base, kinds)
	}, selectStanding, projections.JSONList(members(s.query.Agents)), projections.JSONList(ids))
	if err != nil {
		return fmt.Errorf("read candidates: %w", err)
	}
	if err := s.judgeBusy(ctx, list); err != nil {
		return fmt.Errorf("read open flows of candidates: %w", err)
	}
	for i := range list {
		visit(&list[i])
	}
	return nil
}

// judgeBusy corrects the outcomes of sessions with open flows or runs, of which there are few. A failure or a wait outweighs them.
func (s *search) judgeBusy(ctx context.Context, list []candidate) error {
	at := map[int64]*candidate{}
	var ids []int64
	for i := range list {
		if c := &list[i]; c.standing.busy && (c.standing.outcome == coordination.OutcomeActive || c.standing.outcome == coordination.OutcomeDone) {
			at[c.id] = c
			ids = append(ids, c.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	sessions, err := readSessions(ctx, s.tx, ids)
	if err != nil {
		return err
	}
	if err := loadOpen(ctx, s.tx, sessions); err != nil {
		return err
	}
	threads, err := readThreads(ctx, s.tx, ids)
	if err != nil {
		return err
	}
	for i := range sessions {
		w := &sessions[i]
		w.keepOpen(threads[w.ID])
		at[w.ID].standing.outcome = w.Outcome()
	}
	return nil
}
