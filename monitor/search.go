package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/search"
)

// searchAnswer is the part common to the answers of both searches.
type searchAnswer struct {
	Count        int    `json:"count"`
	Total        int64  `json:"total"`
	TotalIsExact bool   `json:"totalIsExact"` // false: total is a lower bound
	Offset       int    `json:"offset"`
	Limit        int    `json:"limit"`
	Query        string `json:"query"`
	NextOffset   *int   `json:"nextOffset"`      // of the next page; null on the last
	SearchSeq    int64  `json:"searchSeq"`       // events up to here are searched
	AsOfSeq      int64  `json:"asOfSeq"`         // the shown data is as of here
	Error        string `json:"error,omitempty"` // why no search was made
}

// unsearched is the answer without a search, with status 200 as in the original.
func (s *Server) unsearched(q *searchQuery) (f searchAnswer, ok bool) {
	f = searchAnswer{TotalIsExact: true, Offset: q.Offset, Limit: q.Limit, Query: q.text}
	switch {
	case s.opts.Search == nil:
		f.Error = "Search is not available"
	case q.text == "":
		f.Error = "Missing q: give the words to search for"
	}
	return f, f.Error != ""
}

// eventsFound answers GET /api/events/search.
type eventsFound struct {
	Events []json.RawMessage `json:"events"`
	searchAnswer
}

func (s *Server) searchEvents(c echo.Context) error {
	return runSearch(s, c, searchQueryOf, search.Find, (*view).showEventsFound, func(f searchAnswer) any { return &eventsFound{[]json.RawMessage{}, f} })
}

// runSearch runs a search: it finds hits in the search index and reads them from the log.
func runSearch[H, A any](s *Server, c echo.Context, read func(echo.Context) (searchQuery, error), find func(context.Context, *sql.Tx, search.Query) (H, error),
	show func(v *view, ctx context.Context, q *searchQuery, hits H, seq int64) (A, error), empty func(searchAnswer) any) error {
	q, err := read(c)
	if err != nil {
		return err
	}
	if s.opts.then != nil {
		q.UpTo = &s.opts.then.Seq
	}
	if nothing, ok := s.unsearched(&q); ok {
		return s.answer(c, q.minSeq, func(_ context.Context, v *view) (any, error) {
			nothing.AsOfSeq = v.asOf
			return empty(nothing), nil
		})
	}
	return s.searching(c, func(ctx context.Context) error {
		var hits H
		seq, err := s.search(ctx, &q, func(tx *sql.Tx) (err error) {
			hits, err = find(ctx, tx, q.reach())
			return err
		})
		if err != nil {
			return err
		}
		return s.answer(c, q.minSeq, func(ctx context.Context, v *view) (any, error) { return show(v, ctx, &q, hits, seq) })
	})
}

func (v *view) showEventsFound(ctx context.Context, q *searchQuery, hits search.Hits, seq int64) (*eventsFound, error) {
	events, err := v.fetchFound(ctx, hits.Seqs)
	if err != nil {
		return nil, err
	}
	seqs := hits.Seqs[:min(len(hits.Seqs), len(events))] // with huge events a page is shorter than requested
	entries, err := index.Entries(ctx, v.tx, seqs)
	if err != nil {
		return nil, err
	}
	a := &eventsFound{make([]json.RawMessage, len(seqs)), q.answer(v, len(seqs), hits.Total, hits.Exact, seq)}
	if q.Relevance && q.Offset+len(seqs) >= search.Ranked {
		a.NextOffset = nil
	}
	for i, seq := range seqs {
		if a.Events[i], err = withSnippet(v.renderEvent(events[seq], entries[seq]), v.snippet(q.Words, events[seq])); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// sessionsFound answers GET /api/work-sessions/search.
type sessionsFound struct {
	Sessions []sessionFound `json:"sessions"`
	searchAnswer
}

type sessionFound struct {
	sessionAnswer
	MatchCount int64           `json:"matchCount"`
	MatchSeqs  []int64         `json:"matchSeqs"` // newest first, truncated
	Snippet    *search.Snippet `json:"snippet"`   // of the newest hit
}

func (s *Server) searchSessions(c echo.Context) error {
	return runSearch(s, c, sessionSearchQueryOf, search.FindSessions, (*view).showSessionsFound, func(f searchAnswer) any { return &sessionsFound{[]sessionFound{}, f} })
}

// searching runs a search, and repeats it without events that were redacted after indexing.
func (s *Server) searching(c echo.Context, run func(context.Context) error) error {
	const tries = 5
	ctx := c.Request().Context()
	for try := 1; ; try++ {
		err := run(ctx)
		var gone *redactedError
		if !errors.As(err, &gone) {
			return err
		}
		if try == tries {
			return &problem{Status: http.StatusServiceUnavailable, Code: "search_rebuilding", Message: "Events were redacted during the search",
				Hint: "try again", RetryAfter: 1}
		}
		if err := s.opts.Search.Forget(ctx, gone.seqs); err != nil {
			return err
		}
	}
}

type redactedError struct{ seqs []int64 }

func (e *redactedError) Error() string { return fmt.Sprintf("events %v are redacted", e.seqs) }

func (v *view) fetchFound(ctx context.Context, seqs []int64) (map[int64]*eventstore.Event, error) {
	events, err := v.fetch(ctx, seqs)
	if err != nil {
		return nil, err
	}
	var gone []int64
	for seq, e := range events {
		if e.Redacted() {
			gone = append(gone, seq)
		}
	}
	if len(gone) > 0 {
		return nil, &redactedError{gone}
	}
	return events, nil
}

// search queries the search index, which must have reached min_seq, and returns its position.
func (s *Server) search(ctx context.Context, q *searchQuery, look func(*sql.Tx) error) (seq int64, err error) {
	waiting, stop := context.WithTimeout(ctx, s.opts.MaxWait)
	defer stop()
	from := q.minSeq
	if q.UpTo != nil {
		from = *q.UpTo
	}
	if err := s.opts.Search.Wait(waiting, from); err != nil && ctx.Err() == nil {
		return 0, behind(fmt.Sprintf("Search stands at %d; %d was requested", s.opts.Search.Status().Seq, from),
			"try again, or ask without min_seq")
	}
	err = s.opts.Search.View(waiting, func(tx *sql.Tx) (err error) {
		if seq, err = search.Position(waiting, tx); err != nil {
			return err
		}
		if q.UpTo != nil {
			seq = min(seq, *q.UpTo)
		}
		return look(tx)
	})
	var corrupt *eventstore.CorruptError
	var stale *search.StaleError
	switch {
	case errors.As(err, &corrupt), errors.As(err, &stale):
		s.opts.Logger.Warn("the search index is being rebuilt", "err", err)
		return 0, &problem{Status: http.StatusServiceUnavailable, Code: "search_rebuilding", Message: "The search index is being rebuilt",
			Hint: "try again", RetryAfter: 1}
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return 0, &problem{Status: http.StatusServiceUnavailable, Code: "search_slow", Message: "The search took too long", Field: "q",
			Hint: "use longer or more words", RetryAfter: 1}
	}
	return seq, err
}

func (q *searchQuery) answer(v *view, count int, total int64, exact bool, seq int64) searchAnswer {
	f := searchAnswer{Count: count, Total: total, TotalIsExact: exact, Offset: q.Offset, Limit: q.Limit, Query: q.text, SearchSeq: seq, AsOfSeq: v.asOf}
	if next := q.Offset + count; count > 0 && int64(next) < total {
		f.NextOffset = &next
	}
	return f
}

// withSnippet adds a snippet to an event. It replaces a member of that name.
func withSnippet(event []byte, snippet *search.Snippet) ([]byte, error) {
	text, err := json.Marshal(snippet)
	if err != nil {
		return nil, fmt.Errorf("encode snippet: %w", err)
	}
	o := newObject(len(event) + len(text) + len(`,"snippet":`))
	o.members(event, func(key string) bool { return key != "snippet" })
	o.raw("snippet", text)
	return o.end(), nil
}

func (v *view) snippet(words search.Words, e *eventstore.Event) *search.Snippet {
	r := v.record(e)
	s := words.SnippetOf(&r, v.roster)
	return &s
}
