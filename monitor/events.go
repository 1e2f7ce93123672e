package monitor

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/projections/index"
)

// eventsQuery holds the parameters of GET /api/events.
type eventsQuery struct {
	filter index.Filter
	before int64
	after  *int64
	limit  int
	minSeq int64

	role, viewCategory *string // as given
}

func eventsQueryOf(c echo.Context) (eventsQuery, error) {
	p := parametersOf(c)
	q := eventsQuery{
		filter: index.Filter{Roles: p.roles(), Types: p.list("type"), NotTypes: p.list("notType"), Categories: p.categories(), Internal: p.internal(),
			Since: p.instant("since"), Until: p.instant("until"), Agent: p.agent("agent"), Failed: p.yes("isError"), Sessions: p.sessions(),
			Doubt: p.doubt()},
		before: p.eventCursor(), limit: p.limit(), minSeq: p.minSeq(), role: p.raw("role"), viewCategory: p.raw("viewCategory"),
	}
	if text := p.first("before"); text != "" {
		q.before = p.integer("before", math.MaxInt64, 1, math.MaxInt64)
		if p.first("cursor") != "" {
			p.refuse("before", text, "give either before, which is a seq, or the cursor of an answer")
		}
	}
	if text := string(q.filter.Doubt); text != "" {
		for _, name := range []string{"agent", "workSession", "isError", "since", "until"} {
			if p.first(name) != "" {
				p.refuse("doubt", text, "leave out either doubt or "+name)
			}
		}
	}
	for _, name := range []string{"since", "until"} {
		if text := p.first(name); text != "" && (q.filter.Agent != "" || q.filter.Failed || q.filter.Sessions != nil) {
			p.refuse(name, text, "leave it out with agent, workSession and isError; GET /api/events/histogram has the times of seqs, for cursor and after")
		}
	}
	if text := p.first("after"); text != "" {
		after := p.integer("after", 0, 0, math.MaxInt64)
		q.after = &after
		if p.first("cursor") != "" || p.first("before") != "" {
			p.refuse("after", text, "give either after, for newer events, or cursor or before, for older ones")
		}
	}
	return q, p.err
}

// doubt reads what the classifier had to guess; "" if missing.
func (p *parameters) doubt() index.Doubt {
	var known []string
	for _, doubt := range index.AllDoubts() {
		known = append(known, string(doubt))
	}
	return index.Doubt(p.word("doubt", known...))
}

// sessions reads the names of work sessions, with and without ws:, since events have either; nil if missing.
func (p *parameters) sessions() (names []string) {
	for _, name := range p.filter("workSession") {
		bare := strings.TrimPrefix(name, idPrefix)
		names = append(names, bare, idPrefix+bare)
	}
	return names
}

// eventsAnswer answers GET /api/events.
type eventsAnswer struct {
	Events []json.RawMessage `json:"events"`
	eventsRest
}

type eventsRest struct {
	Count          int              `json:"count"`
	Total          int64            `json:"total"`
	TotalMatched   int64            `json:"totalMatched"`
	Role           *string          `json:"role"`
	Type           []string         `json:"type"`
	ViewCategory   *string          `json:"viewCategory"`
	CategoryCounts map[string]int64 `json:"categoryCounts"`
	NextCursor     *string          `json:"nextCursor"` // of the older page
	NextAfter      int64            `json:"nextAfter"`  // start of the next page
	AsOfSeq        int64            `json:"asOfSeq"`
}

func (s *Server) listEvents(c echo.Context) error {
	q, err := eventsQueryOf(c)
	if err != nil {
		return err
	}
	return s.answerKept(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return v.listEvents(ctx, q) })
}

func (v *view) listEvents(ctx context.Context, q eventsQuery) (*eventsAnswer, error) {
	selected, err := index.Select(ctx, v.tx, q.filter)
	if err != nil {
		return nil, err
	}
	a := &eventsAnswer{eventsRest: eventsRest{Total: selected.Total, TotalMatched: selected.Matched, Role: q.role, Type: q.filter.Types,
		ViewCategory: q.viewCategory, CategoryCounts: selected.Categories, AsOfSeq: v.asOf}}
	seqs, more, err := v.findEvents(ctx, selected, &q)
	if err != nil {
		return nil, err
	}
	events, err := v.render(ctx, seqs)
	if err != nil {
		return nil, err
	}
	// With huge events a page is shorter than requested.
	if len(events) < len(seqs) {
		seqs, more = seqs[:len(events)], true
	}
	if q.after == nil {
		slices.Reverse(seqs)
	}
	a.Count, a.Events = len(seqs), make([]json.RawMessage, len(seqs))
	for i, seq := range seqs {
		a.Events[i] = events[seq].text
	}
	a.NextAfter = max(v.asOf, last(seqs))
	switch {
	case q.after == nil && more:
		cursor := eventCursor(seqs[0])
		a.NextCursor = &cursor
	case q.after != nil && more:
		a.NextAfter = last(seqs)
	case q.after != nil:
		a.NextAfter = max(a.NextAfter, *q.after)
	}
	return a, nil
}

// findEvents selects a page's events, those first that must not be missing: the newest, or after a seq the oldest.
// more says that others exist beyond the page.
func (v *view) findEvents(ctx context.Context, selected *index.Selection, q *eventsQuery) (seqs []int64, more bool, err error) {
	if q.after != nil {
		seqs, err = selected.After(ctx, v.tx, *q.after, q.limit+1)
	} else {
		seqs, err = selected.Newest(ctx, v.tx, q.before, q.limit+1)
		slices.Reverse(seqs)
	}
	return seqs[:min(len(seqs), q.limit)], len(seqs) > q.limit, err
}

func last(seqs []int64) int64 {
	if len(seqs) == 0 {
		return 0
	}
	return seqs[len(seqs)-1]
}
