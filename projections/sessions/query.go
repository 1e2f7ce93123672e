package sessions

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/projections"
)

// Query selects sessions, last changed first; ties by creation, oldest first.
type Query struct {
	Agent   string // "": of any
	Spawner string // "": of any
	Label   string // exactly; "": any
	Search  string // part of the label, the key, the session id or the title, in either case and any Unicode normalisation; "": any
	Since   int64  // changed at this time or later, ms; 0: any
	Global  bool   // include the session global
	Unknown bool   // include the session unknown
	Offset  int    // how many to skip
	Limit   int    // 0: all
}

const (
	selectSession = `SELECT s.made_seq, s.key, s.agent, s.kind, s.session_id, s.label, s.spawner, s.settings, s.created_at, s.updated_at, s.seq,
 s.messages, s.title, s.last_role, s.last_text, s.provider, s.model, s.input_tokens, s.output_tokens, s.total_tokens, s.tokens_fresh,
 s.last_channel, s.last_to, s.last_account, s.last_thread, s.aborted`

	selectByKey   = selectSession + " FROM session_keys k JOIN sessions s ON s.id = k.id WHERE k.name = ?"
	selectByID    = selectSession + " FROM session_transcripts t JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id WHERE t.session_id = ?"
	selectByLabel = selectSession + " FROM session_labels l JOIN sessions s ON s.id = l.session_id WHERE l.label = ?"
	selectByRow   = selectSession + " FROM sessions s WHERE s.id = ?"
	selectNames   = "SELECT s.id, s.label || char(31) || s.key || char(31) || s.session_id || char(31) || s.title"
	selectNumber  = "SELECT count(*)"
	fromSessions  = " FROM sessions s WHERE s.updated_at >= ?"
	fromLabels    = " FROM session_labels l JOIN sessions s ON s.id = l.session_id WHERE s.updated_at >= ? AND l.label = ?"
	ofAgent       = " AND s.agent = ?"
	inOrder       = " ORDER BY s.updated_at DESC, s.made_seq"

	// One row per agent.
	selectCounts  = "SELECT agent, sessions FROM session_agents WHERE sessions > 0"
	selectChanged = "SELECT coalesce(max(seq), 0) FROM session_agents"
)

// List returns sessions. Its cost depends on how many sessions changed since q.Since, not on their messages.
func List(ctx context.Context, tx *sql.Tx, q Query) (list []Session, err error) {
	if q.Search != "" {
		return search(ctx, tx, q)
	}
	from, args := q.from()
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	err = sessions(ctx, tx, selectSession+from+inOrder+" LIMIT ? OFFSET ?", append(args, limit, q.Offset), func(s *Session) bool {
		list = append(list, *s)
		return true
	})
	return list, err
}

// Total is how many sessions List would find without offset and limit.
func Total(ctx context.Context, tx *sql.Tx, q Query) (n int, err error) {
	if q.Search != "" {
		err = q.matches(ctx, tx, func(int64) bool {
			n++
			return true
		})
		return n, err
	}
	if q.Since == 0 && q.Label == "" && q.Spawner == "" {
		return q.totalOfAgents(ctx, tx)
	}
	from, args := q.from()
	if err := tx.QueryRowContext(ctx, selectNumber+from, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return n, nil
}

// totalOfAgents adds up existing counts.
func (q *Query) totalOfAgents(ctx context.Context, tx *sql.Tx) (n int, err error) {
	counts, err := Count(ctx, tx)
	if err != nil {
		return 0, err
	}
	if q.Agent != "" {
		return int(counts[strings.ToLower(q.Agent)]), nil
	}
	for _, sessions := range counts {
		n += int(sessions)
	}
	for key, with := range map[string]bool{"global": q.Global, "unknown": q.Unknown} {
		if with {
			continue
		}
		left, err := ByKey(ctx, tx, key)
		if err != nil {
			return 0, err
		}
		if left != nil {
			n--
		}
	}
	return n, nil
}

// from is the query without the search, as SQL.
func (q *Query) from() (from string, args []any) {
	from, args = fromSessions, []any{q.Since}
	if q.Since == 0 {
		args[0] = int64(math.MinInt64)
	}
	if q.Label != "" {
		from, args = fromLabels, append(args, q.Label)
	}
	if q.Agent != "" {
		from, args = from+ofAgent, append(args, strings.ToLower(q.Agent))
	}
	if q.Spawner != "" {
		from, args = from+" AND s.spawner = ?", append(args, q.Spawner)
	}
	if !q.Global {
		from += " AND s.key <> 'global'"
	}
	if !q.Unknown {
		from += " AND s.key <> 'unknown'"
	}
	return from, args
}

// search reads the names of all sessions, and whole rows only for the matches.
func search(ctx context.Context, tx *sql.Tx, q Query) (list []Session, err error) {
	var rows []int64
	passed := 0
	err = q.matches(ctx, tx, func(row int64) bool {
		if passed++; passed > q.Offset {
			rows = append(rows, row)
		}
		return q.Limit <= 0 || len(rows) < q.Limit
	})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		s, err := one(ctx, tx, selectByRow, row)
		if err != nil {
			return nil, err
		}
		list = append(list, *s)
	}
	return list, nil
}

// matches passes the sessions that match the search, in order, until visit has enough.
func (q *Query) matches(ctx context.Context, tx *sql.Tx, visit func(row int64) bool) error {
	const between = "\x1f" // separates names, and occurs in none
	if strings.Contains(q.Search, between) {
		return nil
	}
	from, args := q.from()
	rows, err := tx.QueryContext(ctx, selectNames+from+inOrder, args...)
	if err != nil {
		return fmt.Errorf("search sessions: %w", err)
	}
	defer rows.Close()
	text := searchable(q.Search)
	for rows.Next() {
		var row int64
		var names string
		if err := rows.Scan(&row, &names); err != nil {
			return fmt.Errorf("search sessions: %w", err)
		}
		if strings.Contains(searchable(names), text) && !visit(row) {
			return nil
		}
	}
	return rows.Err()
}

// searchable normalises a text for searching: lower case, and composed Hangul even if it comes from a Mac.
func searchable(text string) string { return strings.ToLower(norm.NFC.String(text)) }

// ByKey returns the session of a key, or nil.
func ByKey(ctx context.Context, tx *sql.Tx, key string) (*Session, error) {
	return one(ctx, tx, selectByKey, key)
}

// ByID returns the session whose current transcript has an id, or nil. The transcript before a reset is not a session
// any more.
func ByID(ctx context.Context, tx *sql.Tx, id string) (*Session, error) {
	return one(ctx, tx, selectByID, id)
}

// ByLabel lists the sessions that have a label, of an agent or with "" of any: one or none.
func ByLabel(ctx context.Context, tx *sql.Tx, label, agent string) (list []Session, err error) {
	s, err := one(ctx, tx, selectByLabel, label)
	if s != nil && (agent == "" || s.Agent == strings.ToLower(agent)) {
		list = append(list, *s)
	}
	return list, err
}

func one(ctx context.Context, tx *sql.Tx, query string, arg any) (found *Session, err error) {
	err = sessions(ctx, tx, query, []any{arg}, func(s *Session) bool {
		found = s
		return false
	})
	return found, err
}

// sessions reads sessions until visit has enough.
func sessions(ctx context.Context, tx *sql.Tx, query string, args []any, visit func(*Session) bool) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Session
		var set settings
		err := rows.Scan(&s.Row, &s.Key, &s.Agent, &s.Kind, &s.ID, &s.Label, &s.Spawner, &set, &s.CreatedAt, &s.UpdatedAt, &s.Seq,
			&s.Messages, &s.Title, &s.LastRole, &s.LastText, &s.Provider, &s.Model, &s.InputTokens, &s.OutputTokens, &s.TotalTokens, &s.TokensFresh,
			&s.LastChannel, &s.LastTo, &s.LastAccount, &s.LastThread, &s.AbortedLastRun)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		s.Settings = session.Settings(set.decode())
		if !visit(&s) {
			return nil
		}
	}
	return rows.Err()
}

// Changed is the seq of the event that changed any session last, 0 if none did. While it is unchanged, List returns
// the same for the same query.
func Changed(ctx context.Context, tx *sql.Tx) (seq int64, err error) {
	if err := tx.QueryRowContext(ctx, selectChanged).Scan(&seq); err != nil {
		return 0, fmt.Errorf("read last change of sessions: %w", err)
	}
	return seq, nil
}

// Count returns the number of sessions per agent. Sessions without an agent are counted under "".
func Count(ctx context.Context, tx *sql.Tx) (map[string]int64, error) {
	counts := map[string]int64{}
	return counts, projections.EachRow(ctx, tx, "count sessions", selectCounts, nil, func(rows *sql.Rows) error {
		var agent string
		var n int64
		err := rows.Scan(&agent, &n)
		counts[agent] = n
		return err
	})
}
