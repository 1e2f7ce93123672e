package runs

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// SpentQuery selects the usage of runs that ended within some time, and of answers that were taken over from other programs.
type SpentQuery struct {
	From, To   int64  // ms since 1970: From inclusive, To exclusive
	Agent      string // "": of any
	SessionKey string // "": of any
}

// Spent is the usage of one session's runs with one model within a quarter of an hour, as counted by the providers, or of such answers of
// another program.
type Spent struct {
	SessionKey, Agent, Provider, Model string
	At                                 int64 // start of the quarter, ms since 1970
	Runs, Failed, ToolCalls            int64
	Questions                          int64 // runs, or answers that ended a turn
	Unpriced                           int64 // of Runs, those with tokens whose cost is unknown
	Input, Output, Total               int64 // tokens; Input has those of the cache
	CacheRead, CacheWrite              int64
	Cost                               sessions.Cost
	First, Last                        int64 // ms since 1970: start of the first and end of the last of them
}

// SpentStep is the time that one Spent covers, in ms. Every time zone's offset is a multiple of it.
const SpentStep = sessions.UsageStep

const (
	selectSpent = `SELECT session_key, agent, provider, model, ended_at / 900000 AS quarter, count(*), sum(state = 'error'), sum(tool_calls),
 sum(total_tokens > 0), sum(input_tokens), sum(output_tokens), sum(total_tokens), min(CASE started_at WHEN 0 THEN queued_at ELSE started_at END), max(ended_at)
  FROM runs WHERE ended_at > 0 AND ended_at >= ? AND ended_at < ?`
	ofSpender  = " AND +agent = ?" // +: use the index on the time, which is more selective than the agent
	groupSpent = ` GROUP BY session_key, agent, provider, model, quarter ORDER BY quarter, session_key, provider, model`
)

// SpentIn returns the usage, oldest first. Its cost depends on the number of runs within that time, not on the total.
func SpentIn(ctx context.Context, tx *sql.Tx, q SpentQuery) ([]Spent, error) {
	list, err := spentByRuns(ctx, tx, q)
	if err != nil {
		return nil, err
	}
	brought, err := sessions.UsageIn(ctx, tx, sessions.UsageQuery(q))
	if err != nil || len(brought) == 0 {
		return list, err
	}
	for i := range brought {
		list = append(list, spentBrought(&brought[i]))
	}
	slices.SortStableFunc(list, func(a, b Spent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.SessionKey, b.SessionKey), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return list, nil
}

// spentBrought is usage that was taken over: each answer counts as a run.
func spentBrought(u *sessions.Usage) Spent {
	return Spent{SessionKey: u.SessionKey, Agent: u.Agent, Provider: u.Provider, Model: u.Model, At: u.Quarter * SpentStep, Runs: u.Answers, Failed: u.Failed,
		ToolCalls: u.ToolCalls, Questions: u.Questions, Unpriced: u.Unpriced, Input: u.Input, Output: u.Output, Total: u.Total, CacheRead: u.CacheRead,
		CacheWrite: u.CacheWrite, Cost: u.Cost, First: u.First, Last: u.Last}
}

func spentByRuns(ctx context.Context, tx *sql.Tx, q SpentQuery) ([]Spent, error) {
	query, args := selectSpent, []any{q.From, q.To}
	if q.Agent != "" {
		query, args = query+ofSpender, append(args, q.Agent)
	}
	if q.SessionKey != "" {
		query, args = query+" AND session_key = ?", append(args, q.SessionKey)
	}
	return projections.ListRows(ctx, tx, "read usage of runs", query+groupSpent, args, func(rows *sql.Rows, s *Spent) error {
		err := rows.Scan(&s.SessionKey, &s.Agent, &s.Provider, &s.Model, &s.At, &s.Runs, &s.Failed, &s.ToolCalls, &s.Unpriced, &s.Input, &s.Output, &s.Total,
			&s.First, &s.Last)
		s.At *= SpentStep
		s.Questions = s.Runs
		return err
	})
}

// Tokens counts the tokens of models, as counted by the providers.
type Tokens struct{ Input, Output int64 }

const selectTokens = `SELECT agent, sum(input_tokens), sum(output_tokens) FROM runs WHERE ended_at > 0 AND ended_at >= ? AND ended_at < ? GROUP BY agent`

// TokensIn returns the tokens of the runs that ended within some time, and of answers then that were taken over, by agent in lower case; from is
// inclusive, to exclusive, in ms since 1970. Its cost depends on the number of runs within that time, not on the total.
func TokensIn(ctx context.Context, tx *sql.Tx, from, to int64) (map[string]Tokens, error) {
	all := map[string]Tokens{}
	brought, err := sessions.UsageIn(ctx, tx, sessions.UsageQuery{From: from, To: to})
	for i := range brought {
		sum := all[brought[i].Agent]
		all[brought[i].Agent] = Tokens{sum.Input + brought[i].Input, sum.Output + brought[i].Output}
	}
	if err != nil {
		return nil, err
	}
	return all, projections.EachRow(ctx, tx, "read tokens of runs", selectTokens, []any{from, to}, func(rows *sql.Rows) error {
		var agent string
		var t Tokens
		err := rows.Scan(&agent, &t.Input, &t.Output)
		agent = strings.ToLower(agent)
		sum := all[agent]
		all[agent] = Tokens{sum.Input + t.Input, sum.Output + t.Output}
		return err
	})
}
