package monitor

import (
	"context"
	"maps"
	"math"

	"github.com/pronto-lab/openclawd/projections/conversations"
)

// pageQuery holds the parameters of GET /api/work-sessions/:id that select a page of its events.
type pageQuery struct {
	thread string // as given; "": all
	before int64
	after  *int64
	limit  int
}

// page reads the parameters of a page; nil if none is given.
func (p *parameters) page() *pageQuery {
	given := func(name string) bool { return p.first(name) != "" }
	if !given("thread") && !given("before") && !given("after") && !given("limit") {
		return nil
	}
	q := &pageQuery{thread: p.first("thread"), before: p.integer("before", math.MaxInt64, 1, math.MaxInt64), limit: p.limit()}
	if given("after") {
		after := p.integer("after", 0, 0, math.MaxInt64)
		q.after = &after
		if given("before") {
			p.refuse("after", p.first("after"), "give either after, for newer events, or before, for older ones")
		}
	}
	if p.summary() {
		p.refuse("include", p.first("include"), "leave it out for a page of events, or leave out thread, limit, before and after")
	}
	return q
}

// pageAnswer is the position of a page of a work session's events. The rest of the answer describes the events of the
// page where it otherwise describes all listed ones.
type pageAnswer struct {
	Thread     *string `json:"thread"`
	NextBefore *int64  `json:"nextBefore"` // of the older page
	NextAfter  *int64  `json:"nextAfter"`  // of the newer page
}

// showPage renders a page of a work session, an empty one if a filter on role or type leaves none of its events; nil if
// it has none without one either.
func (v *view) showPage(ctx context.Context, kinds *conversations.Kinds, id int64, q *pageQuery) (*sessionAnswer, *pageAnswer, error) {
	s, ok, err := conversations.Read(ctx, v.tx, kinds, id)
	if err != nil || !ok {
		return nil, nil, err
	}
	r := conversations.Range{Before: q.before, After: q.after}
	if q.thread != "" {
		if r.Thread, ok, err = conversations.ThreadByName(ctx, v.tx, id, q.thread); err != nil {
			return nil, nil, err
		}
		if !ok {
			r.Thread = -1 // a value of a filter that is unknown matches nothing
		}
	}
	found, err := s.Find(ctx, v.tx, kinds, r, q.limit)
	if err != nil {
		return nil, nil, err
	}
	events, err := v.render(ctx, found.Seqs)
	if err != nil {
		return nil, nil, err
	}
	// With huge events a page is shorter than requested.
	if len(events) < len(found.Seqs) {
		found.Seqs, found.More = found.Seqs[:len(events)], true
	}
	if err := s.Show(ctx, v.tx, found.Seqs); err != nil {
		return nil, nil, err
	}
	if _, had := events[s.MessageSeq]; s.MessageSeq > 0 && !had {
		last, err := v.render(ctx, []int64{s.MessageSeq})
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(events, last)
	}
	render := sessionRenderer{view: v, events: events, labels: categoryLabels()}
	a := render.session(s)
	return &a, q.answer(found), nil
}

// answer says where the neighbours of a page begin. Those of an empty page begin where it was asked for.
func (q *pageQuery) answer(found conversations.Page) *pageAnswer {
	a := &pageAnswer{Thread: orNull(q.thread)}
	oldest, newest := q.before, q.before-1
	if q.after != nil {
		oldest, newest = min(*q.after, math.MaxInt64-1)+1, *q.after
	}
	if n := len(found.Seqs); n > 0 && q.after != nil {
		oldest, newest = found.Seqs[0], found.Seqs[n-1]
	} else if n > 0 {
		oldest, newest = found.Seqs[n-1], found.Seqs[0]
	}
	isOlder, isNewer := found.More, found.Back
	if q.after != nil {
		isOlder, isNewer = found.Back, found.More
	}
	if isOlder {
		a.NextBefore = &oldest
	}
	if isNewer {
		a.NextAfter = &newest
	}
	return a
}
