package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Query asks for work sessions, newest first. Its zero value, with a Limit, asks for all that hold an event which is not our own
// book-keeping.
type Query struct {
	Scope                              // which events are listed; a session without one is left out
	Categories   []string              // none: any
	Tag          string                // a whole sub-tag, in any case; "": any
	Statuses     []coordination.Status // none: any
	Since, Until *float64              // time of the last listed event, ms since 1970, both inclusive; nil: unbounded
	Now          float64               // ms since 1970; what Statuses are judged by
	After        *Position             // nil: from the newest
	Limit        int
}

// Position is a place in the order of work sessions: by the last listed event, the newest first; of equals the one that began first.
type Position struct {
	Last float64
	ID   int64
}

// Found says which work sessions a query matches.
type Found struct {
	IDs        []int64          // a page of them, in order
	Next       *Position        // where the next page begins; nil: there is none
	Total      int64            // sessions with a listed event
	Matched    int64            // sessions that match the whole query, on all pages
	Categories map[string]int64 // sessions by category that match all of the query but its categories; none is left out
	Kinds      *Kinds           // which events are listed
}

// Find finds the work sessions of a page and counts all that match.
//
// Sessions are counted by the census, so that the cost does not grow with their number; only a tag, a time or a status makes it look
// at each session with that tag, of that time, or, for a status, of the last 24 hours.
func Find(ctx context.Context, tx *sql.Tx, q Query) (*Found, error) {
	f, err := find(ctx, tx, &q)
	if err != nil {
		return nil, fmt.Errorf("find work sessions: %w", err)
	}
	return f, nil
}

func find(ctx context.Context, tx *sql.Tx, q *Query) (*Found, error) {
	kinds, err := SelectKinds(ctx, tx, q.Scope)
	if err != nil {
		return nil, err
	}
	counted, err := kinds.census(ctx, tx)
	if err != nil {
		return nil, err
	}
	f := &Found{Kinds: kinds, Total: sum(counted.listed), Categories: counted.listed}
	page := ranking{limit: q.Limit + 1, after: q.After}
	s := search{tx: tx, kinds: kinds, query: q}
	switch {
	case f.Total == 0:
	case q.Tag != "":
		f.Categories, err = s.gather(ctx, &page, s.tagged)
	case q.Since != nil || q.Until != nil:
		f.Categories, err = s.gather(ctx, &page, s.timed)
	case len(q.Statuses) > 0 && !slices.Contains(q.Statuses, coordination.StatusArchived):
		f.Categories, err = s.gather(ctx, &page, s.recent)
	default:
		if len(q.Statuses) > 0 {
			if err := s.takeOutRecent(ctx, f.Categories); err != nil {
				return nil, err
			}
		}
		err = s.newest(ctx, &page, counted)
	}
	if err != nil {
		return nil, err
	}
	for category, n := range f.Categories {
		if allows(q.Categories, category) {
			f.Matched += n
		}
	}
	if len(page.best) > q.Limit {
		page.best = page.best[:q.Limit]
		last := page.best[q.Limit-1]
		f.Next = &Position{last.listed, last.id}
	}
	for _, c := range page.best {
		f.IDs = append(f.IDs, c.id)
	}
	return f, nil
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

func allows[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// ranking keeps the first few of the candidates that it is shown, in order, from a position on.
type ranking struct {
	limit int
	after *Position
	best  []candidate
}

func (r *ranking) add(c candidate) {
	if r.after != nil && c.order(candidate{id: r.after.ID, listed: r.after.Last}) <= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(r.best, c, candidate.order)
	if at == r.limit {
		return
	}
	r.best = slices.Insert(r.best, at, c)
	r.best = r.best[:min(len(r.best), r.limit)]
}

// settled reports that no candidate with a listed time below ms can enter any more.
func (r *ranking) settled(ms float64) bool {
	return len(r.best) == r.limit && r.best[r.limit-1].listed >= ms
}

// candidate is what decides whether and where a work session is listed.
type candidate struct {
	id       int64
	last     float64 // of all its events
	listed   float64 // of those that are listed
	isListed bool    // one is
	category string
	terminal bool
	open     bool
}

// order is the order of Position.
func (c candidate) order(d candidate) int {
	return cmp.Or(cmp.Compare(d.listed, c.listed), cmp.Compare(c.id, d.id))
}

// passes reports whether a session matches all of the query but its categories and its tag.
func (q *Query) passes(c *candidate) bool {
	return c.isListed && (q.Since == nil || c.listed >= *q.Since) && (q.Until == nil || c.listed <= *q.Until) &&
		allows(q.Statuses, coordination.SessionStatus(q.Now, c.last, c.terminal, c.open))
}
