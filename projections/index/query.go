package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
)

// Filter selects events. Its zero value selects all but internal bookkeeping.
type Filter struct {
	Roles, Types, Categories []string // none: any; an unknown value matches nothing
	NotTypes                 []string
	Internal                 bool     // include internal bookkeeping
	Since, Until             *float64 // event time in ms since 1970, both inclusive; nil: unbounded

	// Agent, Failed, Sessions and Doubt cannot be combined with Since and Until.
	Agent    string   // subject, sender or receiver, in lower case; "": any
	Failed   bool     // only events that report a failure
	Sessions []string // names of work sessions; nil: any
	Doubt    Doubt    // only events with this doubt; "": any. It cannot be combined with the other three either
}

func (f *Filter) allowsType(typ string) bool {
	return allows(f.Types, typ) && !slices.Contains(f.NotTypes, typ)
}

// marked reports whether the filter selects by marks.
func (f *Filter) marked() bool { return f.Agent != "" || f.Failed }

func (f *Filter) mark() mark { return mark{f.Agent, f.Failed} }

// Selection is the result of a filter: how many events match, and where they are found. It is valid for one read
// transaction.
type Selection struct {
	Total      int64            // number of events, filtered by Internal only
	Matched    int64            // number of events that pass the filter
	Categories map[string]int64 // events by category that pass the filter apart from its categories; has an entry for every category

	filter Filter
	facets []int64 // the matching facets
	seqs   []int64 // with Sessions, all that match, ascending
	floor  int64   // no matching event has a lower seq
	newest *newest // with a mark
}

// part is the contribution of one facet to a selection.
type part struct {
	n     int64 // number of events
	floor int64 // no event of it has a lower seq
}

const selectFacets = "SELECT id, internal, role, type, category, n, from_unknown, to_unknown, role_guessed, category_fallback FROM facets"

// Select counts the events that pass a filter. Without a time it reads one row per combination of role, type and
// category, and with marks one more. With a time it reads one more per such combination and hour, and the events of
// the hours that contain the bounds. With work sessions it reads their events.
func Select(ctx context.Context, tx *sql.Tx, filter Filter) (*Selection, error) {
	s := &Selection{Categories: map[string]int64{}, filter: filter, floor: math.MaxInt64}
	facets, err := readFacets(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("select events: %w", err)
	}
	if filter.marked() {
		if s.newest, err = readNewest(ctx, tx); err != nil {
			return nil, fmt.Errorf("select events: %w", err)
		}
	}
	var within map[int64]part
	limited := true
	switch {
	case filter.Sessions != nil:
		within, err = s.countSessions(ctx, tx, facets)
	case filter.marked():
		within, err = countMarked(ctx, tx, s.newest, filter.mark())
	case filter.Since != nil || filter.Until != nil:
		within, err = countWithin(ctx, tx, filter.counted(facets), filter.since(), filter.until())
	default:
		limited = false
	}
	if err != nil {
		return nil, fmt.Errorf("count events: %w", err)
	}
	for _, f := range facets {
		if f.internal && !filter.Internal {
			continue
		}
		s.Total += f.n
		found := part{n: f.n, floor: f.id}
		if limited {
			found = within[f.id]
		}
		if filter.Doubt != "" {
			found.n = filter.Doubt.of(&f)
		}
		if found.n == 0 || !allows(filter.Roles, f.role) || !filter.allowsType(f.typ) {
			continue
		}
		s.Categories[f.category] += found.n
		if allows(filter.Categories, f.category) {
			s.Matched += found.n
			s.facets = append(s.facets, f.id)
			s.floor = min(s.floor, found.floor)
		}
	}
	return s, nil
}

func readFacets(ctx context.Context, tx *sql.Tx) ([]facet, error) {
	rows, err := tx.QueryContext(ctx, selectFacets)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var facets []facet
	for rows.Next() {
		var f facet
		if err := rows.Scan(&f.id, &f.internal, &f.role, &f.typ, &f.category, &f.n, &f.fromUnknown, &f.toUnknown, &f.roles, &f.categories); err != nil {
			return nil, err
		}
		facets = append(facets, f)
	}
	return facets, rows.Err()
}

// counted lists the facets whose events pass the filter apart from its categories, time, marks and sessions.
func (f *Filter) counted(facets []facet) (ids []int64) {
	of := *f
	of.Categories = nil
	for i := range facets {
		if of.matches(&facets[i]) {
			ids = append(ids, facets[i].id)
		}
	}
	return ids
}

func allows(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

func (f *Filter) since() float64 {
	if f.Since == nil {
		return -math.MaxFloat64
	}
	return *f.Since
}

func (f *Filter) until() float64 {
	if f.Until == nil {
		return math.MaxFloat64
	}
	return *f.Until
}

// CountInternal counts the events of a type of internal bookkeeping, without imported lines of that type.
func CountInternal(ctx context.Context, tx *sql.Tx, typ string) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(n), 0) FROM facets WHERE internal = 1 AND type = ?", typ).Scan(&n)
	return n, err
}
