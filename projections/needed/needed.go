// Package needed finds the events of a log whose payloads are still needed: those that open work, runs, flows, tasks
// and requests depend on. Decisions read them by SQL, which cannot read archives.
package needed

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/projections"
)

// Reason says why events are needed from a seq on.
type Reason struct {
	Seq  int64  `json:"seq"`  // the first needed event
	What string `json:"what"` // e.g. "task task_ab12 of eden is open"
}

// observedMs is how long agents are shown what they have observed.
const observedMs = 24 * 60 * 60 * 1000

// source finds the oldest event that one kind of open items depends on, and describes it.
type source struct {
	query string
	args  []any
}

func sources(now int64) []source {
	return []source{
		{"SELECT seq, 'work ' || effect_id || ' is ' || state FROM work ORDER BY seq LIMIT 1", nil},
		{`SELECT min(place, id), 'run ' || CASE run_id WHEN '' THEN name ELSE run_id END || ' of ' || agent || ' is ' || state FROM runs
 WHERE over_seq = 0 ORDER BY min(place, id) LIMIT 1`, nil},
		{`SELECT id, 'flow ' || CASE job_id WHEN '' THEN name ELSE job_id END || ' from ' || from_agent || ' to ' || to_agent || ' is open' FROM a2a_jobs
 WHERE over_seq = 0 ORDER BY id LIMIT 1`, nil},
		{`SELECT min(j.id, h.seq), h.type || ' ' || h.subject || ' from ' || h.from_agent || ' to ' || h.to_agent || ' is open' FROM a2a_handoffs h
 JOIN a2a_jobs j ON j.name = h.job WHERE h.state = 'open' ORDER BY min(j.id, h.seq) LIMIT 1`, nil},
		// The place of a task is a seq * 2^24 plus a number.
		{`SELECT id >> 24, 'task ' || CASE task_id WHEN '' THEN name ELSE task_id END || ' of ' || agent || ' is open' FROM tasks
 WHERE over = 0 AND own = 1 ORDER BY id LIMIT 1`, nil},
		{`SELECT id, 'plan ' || CASE plan_id WHEN '' THEN name ELSE plan_id END || ' of ' || agent || ' waits for a decision' FROM plans
 WHERE status = 'pending' ORDER BY id LIMIT 1`, nil},
		{`SELECT id, 'request ' || CASE collab_id WHEN '' THEN name ELSE collab_id END || ' from ' || from_agent || ' to ' || target_agent ||
 CASE status WHEN '' THEN ' is not delivered yet' ELSE ' is ' || status END FROM collaborations
 WHERE status IN ('pending', 'escalated') OR delivery = 'accepted' ORDER BY id LIMIT 1`, nil},
		{"SELECT seq, agent || ' remembers what it has observed' FROM discord_observed WHERE at > ? ORDER BY seq LIMIT 1",
			[]any{now - observedMs}},
		{`SELECT (e.data ->> '$.seq') + 1, s.name || ' has read the log up to ' || (e.data ->> '$.seq')
  FROM streams s JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
 WHERE s.name > 'sink/' AND s.name < 'sink0' AND e.actor <> 'import' AND e.data ->> '$.seq' IS NOT NULL AND NOT coalesce(e.data ->> '$.stopped', 0)
 ORDER BY 1 LIMIT 1`, nil},
	}
}

// StaleError says that tables of open items do not reflect the whole log.
type StaleError struct {
	Projection string
	Lag        int64
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("projection %s is %d events behind the log, so the events still needed are unknown", e.Projection, e.Lag)
}
func (e *StaleError) Code() string { return "projection_behind" }
func (e *StaleError) Hint() string { return "openclawd projections rebuild " + e.Projection }

// Find lists why events are needed: the oldest open item of each kind, the one that reaches back furthest first. now
// is in ms since 1970. The error is a *StaleError if the tables are behind.
func Find(ctx context.Context, tx *sql.Tx, now int64) ([]Reason, error) {
	states, err := projections.List(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read positions of projections: %w", err)
	}
	for _, s := range states {
		if s.Kind == projections.Decision && (s.Lag > 0 || s.State != projections.Live) {
			return nil, &StaleError{s.Name, s.Lag}
		}
	}
	reasons := []Reason{}
	for _, s := range sources(now) {
		var r Reason
		err := tx.QueryRowContext(ctx, s.query, s.args...).Scan(&r.Seq, &r.What)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find events still needed: %w", err)
		}
		if r.Seq, err = together(ctx, tx, r.Seq); err != nil {
			return nil, err
		}
		reasons = append(reasons, r)
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(a.Seq, b.Seq) })
	return reasons, nil
}

// Scheduled work may refer to an event stored with it in one transaction: that has the same time, and is at most this
// far before it.
const maxTogether = 4096

// together returns the first event that was stored at the same time as one.
func together(ctx context.Context, tx *sql.Tx, seq int64) (int64, error) {
	var first int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(min(e.seq), ?) FROM events e WHERE e.seq BETWEEN ? AND ?
 AND e.recorded_at = (SELECT recorded_at FROM events WHERE seq = ?)`, seq, seq-maxTogether, seq, seq).Scan(&first)
	if err != nil {
		return 0, fmt.Errorf("find events stored together: %w", err)
	}
	return first, nil
}

// Kept reports whether an event of a type keeps its payload whatever is archived: configurations, events about the log
// itself, positions of sinks, and the last seen state of a file. newest states that it is the last event of its
// stream.
func Kept(typ string, newest bool) bool {
	switch family, _, _ := strings.Cut(typ, "."); family {
	case "config", "log":
		return true
	case "sink", "file":
		return newest
	}
	return false
}
