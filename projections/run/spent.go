package run

import (
	"context"
	"database/sql"
	"fmt"
)

// SpentQuery asks what runs have spent that have ended within some time.
type SpentQuery struct {
	From, To   int64  // ms since 1970: from From on, before To
	Agent      string // "": of any
	SessionKey string // "": of any
}

// Spent is what the runs of one session have spent at one model within a quarter of an hour, by the count of those who answered.
type Spent struct {
	SessionKey, Agent, Provider, Model string
	At                                 int64 // when the quarter began, ms since 1970
	Runs, Failed, ToolCalls            int64
	Input, Output, Total               int64 // tokens
	First, Last                        int64 // ms since 1970: when the first of them began, and the last of them ended
}

// SpentStep is the time that one Spent covers, in ms. Every time zone is apart from UTC by a multiple of it.
const SpentStep = 15 * 60 * 1000

const (
	selectSpent = `SELECT session_key, agent, provider, model, ended_at / 900000 AS quarter, count(*), sum(state = 'error'), sum(tool_calls),
 sum(input_tokens), sum(output_tokens), sum(total_tokens), min(CASE started_at WHEN 0 THEN queued_at ELSE started_at END), max(ended_at)
  FROM runs WHERE ended_at > 0 AND ended_at >= ? AND ended_at < ?`
	ofSpender  = " AND +agent = ?" // +: found by the time, of which there is less than of the agent's runs
	groupSpent = ` GROUP BY session_key, agent, provider, model, quarter ORDER BY quarter, session_key, provider, model`
)

// SpentIn is what was spent, the oldest first. What it costs goes by the runs within that time, not by how many there have been.
func SpentIn(ctx context.Context, tx *sql.Tx, q SpentQuery) (list []Spent, err error) {
	query, args := selectSpent, []any{q.From, q.To}
	if q.Agent != "" {
		query, args = query+ofSpender, append(args, q.Agent)
	}
	if q.SessionKey != "" {
		query, args = query+" AND session_key = ?", append(args, q.SessionKey)
	}
	rows, err := tx.QueryContext(ctx, query+groupSpent, args...)
	if err != nil {
		return nil, fmt.Errorf("read what runs have spent: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Spent
		if err := rows.Scan(&s.SessionKey, &s.Agent, &s.Provider, &s.Model, &s.At, &s.Runs, &s.Failed, &s.ToolCalls, &s.Input, &s.Output, &s.Total,
			&s.First, &s.Last); err != nil {
			return nil, fmt.Errorf("read what runs have spent: %w", err)
		}
		s.At *= SpentStep
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read what runs have spent: %w", err)
	}
	return list, nil
}
