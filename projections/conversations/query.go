package conversations

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Query selects work sessions, newest first. Its zero value, with a Limit, selects all that have an event other than
// internal bookkeeping.
type Query struct {
	Scope                               // which events are listed; sessions without one are left out
	Categories   []string               // none: any
	Tag          string                 // a whole sub-tag, in either case; "": any
	Statuses     []coordination.Status  // none: any
	Outcomes     []coordination.Outcome // none: any
	Agents       []string               // take part in it: one of them, in either case; none: any
	Open         *bool                  // a conversation, task, flow or run of it is open, a blocked task included; nil: any
	Since, Until *float64               // time of the last listed event, ms since 1970, both inclusive; nil: unbounded
	Now          float64                // ms since 1970; Statuses are computed as of this time
	After        *Position              // nil: from the newest
	Limit        int
}

// Position is a place in the order of work sessions: by the last listed event, newest first; ties by the first event,
// oldest first.
type Position struct {
	Last float64
	ID   int64
}

// Found is the result of a query.
type Found struct {
	IDs        []int64          // a page of them, in order
	Next       *Position        // where the next page begins; nil if there is none
	Total      int64            // sessions with a listed event
	Matched    int64            // sessions that match the whole query, on all pages
	Categories map[string]int64 // sessions by category that match the query apart from its categories; has an entry for every category
	Kinds      *Kinds           // which events are listed
}

// Find returns a page of work sessions and counts all matches.
//
// Sessions are counted by the census, so that the cost does not grow with their number; only a tag, a time, a status, an
// outcome, an agent or open work makes it read each session with that tag, of that time, for a status of the last 24
// hours, with that outcome or agent, or with open work.
func Find(ctx context.Context, tx *sql.Tx, q Query) (*Found, error) {
	f, err := find(ctx, tx, &q)
	if err != nil {
		return nil, fmt.Errorf("find work sessions: %w", err)
	}
	return f, nil
}

// Passing returns which of some work sessions match the query apart from its categories, its tag and its page.
func Passing(ctx context.Context, tx *sql.Tx, q Query, ids []int64) (map[int64]bool, error) {
	kinds, err := SelectKinds(ctx, tx, q.Scope)
	if err != nil {
		return nil, err
	}
	passing := map[int64]bool{}
	s := search{tx: tx, kinds: kinds, query: &q}
	err = s.readCandidates(ctx, ids, func(c *candidate) {
		if q.passes(c) {
			passing[c.id] = true
		}
	})
	return passing, err
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
	case q.narrowed():
		f.Categories, err = s.gather(ctx, &page, s.indexed)
	default:
		if err := s.takeOut(ctx, f.Categories); err != nil {
			return nil, err
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

// ranking keeps the first few of the candidates passed to it, in order, from a position on.
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

// settled reports that candidates with a listed time below ms cannot enter any more.
func (r *ranking) settled(ms float64) bool {
	return len(r.best) == r.limit && r.best[r.limit-1].listed >= ms
}

// candidate is what determines whether and where a work session is listed.
type candidate struct {
	id       int64
	last     float64 // over all its events
	listed   float64 // over the listed ones
	isListed bool    // at least one is listed
	category string
	terminal bool
	open     bool

	standing standing // only with a filter on it
}

// order compares as Position.
func (c candidate) order(d candidate) int {
	return cmp.Or(cmp.Compare(d.listed, c.listed), cmp.Compare(c.id, d.id))
}

// passes reports whether a session matches the query apart from its categories and its tag.
func (q *Query) passes(c *candidate) bool {
	return c.isListed && (q.Since == nil || c.listed >= *q.Since) && (q.Until == nil || c.listed <= *q.Until) &&
		allows(q.Statuses, coordination.SessionStatus(q.Now, c.last, c.terminal, c.open)) && (!q.filtersStanding() || q.passesStanding(&c.standing))
}
