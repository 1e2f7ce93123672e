package conversations

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Scope selects the events of work sessions that are listed. Its zero value selects all but internal bookkeeping.
type Scope struct {
	Roles    []string // none: any; an unknown value matches nothing
	Types    []string // likewise
	Internal bool     // include internal bookkeeping
}

// Kinds are the combinations of role and type whose events are listed. They are valid for one read transaction.
type Kinds struct {
	all    bool // all that exist
	listed map[int64]bool
	roles  map[int64]coordination.Role // the kinds that are listed without a filter on role or type
}

const selectKinds = "SELECT id, internal, role, type FROM session_kinds"

// SelectKinds returns the kinds of events in a scope.
func SelectKinds(ctx context.Context, tx *sql.Tx, scope Scope) (*Kinds, error) {
	rows, err := tx.QueryContext(ctx, selectKinds)
	if err != nil {
		return nil, fmt.Errorf("read kinds: %w", err)
	}
	defer rows.Close()
	k := &Kinds{all: true, listed: map[int64]bool{}, roles: map[int64]coordination.Role{}}
	for rows.Next() {
		var row kind
		if err := rows.Scan(&row.id, &row.internal, &row.role, &row.typ); err != nil {
			return nil, fmt.Errorf("read kinds: %w", err)
		}
		if scope.Internal || !row.internal {
			k.roles[row.id] = coordination.Role(row.role)
		}
		if (scope.Internal || !row.internal) && allows(scope.Roles, row.role) && allows(scope.Types, row.typ) {
			k.listed[row.id] = true
		} else {
			k.all = false
		}
	}
	return k, rows.Err()
}

// shown tells whether a kind is listed without a filter on role or type.
func (k *Kinds) shown(held kindCount) bool {
	_, shown := k.roles[held.kind]
	return shown && held.n > 0
}

// byRole counts the events of a session by role, among those listed without a filter on role or type.
func (k *Kinds) byRole(held []kindCount) map[coordination.Role]int64 {
	counts := map[coordination.Role]int64{}
	for _, role := range roles {
		counts[role] = 0
	}
	for _, h := range held {
		if role, ok := k.roles[h.kind]; ok {
			counts[role] += h.n
		}
	}
	return counts
}

// lists are the lists of session_slots that contain every session with a listed event: at the slot of its last listed
// event, and maybe at earlier ones.
func (k *Kinds) lists() []string {
	if k.all {
		return categoryLists(nil)
	}
	var lists []string
	for id := range k.listed {
		lists = append(lists, KindList(id))
	}
	return lists
}

func categoryLists(names []string) []string {
	var lists []string
	for _, c := range coordination.Categories() {
		if allows(names, string(c.Category)) {
			lists = append(lists, CategoryList(c.Category))
		}
	}
	return lists
}

// counts are numbers of sessions by category.
type counts struct {
	listed map[string]int64 // those with a listed event
	all    map[string]int64
}

const (
	selectCensus    = "SELECT signature, category, n FROM session_census"
	selectAllCensus = "SELECT category, sum(n) FROM session_census GROUP BY category HAVING sum(n) > 0"
)

// Both census tables are read by their primary keys.
const (
	selectCensusSince    = "SELECT signature, category, sum(n) FROM session_hours WHERE hour > ? GROUP BY signature, category"
	hasCensusByHour      = "SELECT EXISTS (SELECT 1 FROM session_hours)"
	selectAllCensusSince = "SELECT category, sum(n) FROM session_hours WHERE hour > ? GROUP BY category"
)

// census counts sessions without reading them: by their combinations of kinds.
func (k *Kinds) census(ctx context.Context, tx *sql.Tx) (counts, error) {
	if k.all {
		return k.count(ctx, tx, selectAllCensus)
	}
	return k.count(ctx, tx, selectCensus)
}

// censusAfter is census for the sessions whose last event, listed or not, was after an hour.
func (k *Kinds) censusAfter(ctx context.Context, tx *sql.Tx, hour int64) (counts, error) {
	if k.all {
		return k.count(ctx, tx, selectAllCensusSince, hour)
	}
	return k.count(ctx, tx, selectCensusSince, hour)
}

// count adds up the rows of a query for signature, unless all kinds are listed, category, and number.
func (k *Kinds) count(ctx context.Context, tx *sql.Tx, query string, args ...any) (counts, error) {
	c := counts{listed: map[string]int64{}, all: map[string]int64{}}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return c, fmt.Errorf("read census: %w", err)
	}
	defer rows.Close()
	var signature, category string
	var n int64
	into := []any{&signature, &category, &n}
	if k.all {
		into = into[1:]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return c, fmt.Errorf("read census: %w", err)
		}
		c.all[category] += n
		if k.all || k.occursIn(signature) {
			c.listed[category] += n
		}
	}
	return c, rows.Err()
}

// occursIn reports whether a session with this signature has a listed event.
func (k *Kinds) occursIn(signature string) bool {
	for text := range strings.SplitSeq(signature, ",") {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && k.listed[id] {
			return true
		}
	}
	return false
}

// CountByCategory counts the work sessions that have an event in the scope.
func CountByCategory(ctx context.Context, tx *sql.Tx, scope Scope) (map[string]int64, error) {
	kinds, err := SelectKinds(ctx, tx, scope)
	if err != nil {
		return nil, err
	}
	c, err := kinds.census(ctx, tx)
	return c.listed, err
}
