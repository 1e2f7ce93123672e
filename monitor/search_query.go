package monitor

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/search"
)

type searchQuery struct {
	search.Query
	text    string // q as given; "" if nothing is searched
	summary bool   // work sessions only, as standing
	minSeq  int64

	standing *conversations.Query // filters on status, outcome and open work; nil: none
}

// judgedSessions is how many work sessions, those with the newest hits, are read to apply filters that the search index does not know.
const judgedSessions = 300

// reach is what the search index is asked for.
func (q *searchQuery) reach() search.Query {
	asked := q.Query
	if q.standing != nil {
		asked.Limit, asked.Offset = judgedSessions, 0
	}
	return asked
}

// sessionSearchQueryOf reads the parameters of GET /api/work-sessions/search.
func sessionSearchQueryOf(c echo.Context) (searchQuery, error) {
	q, err := searchQueryOf(c)
	if err != nil {
		return q, err
	}
	p := parametersOf(c)
	standing := conversations.Query{Scope: conversations.Scope{Roles: q.Roles, Types: q.Types, Internal: q.Internal},
		Statuses: p.statuses(), Outcomes: p.outcomes(), Open: p.flag("open")}
	if len(standing.Statuses) > 0 || len(standing.Outcomes) > 0 || standing.Open != nil {
		q.standing = &standing
	}
	return q, p.err
}

const defaultHits = 50

// countedHits is the limit up to which hits are counted, which bounds the cost on a long log.
const countedHits = 10_000

// maxFilterValues limits each list of values: every value is a term of the query.
const maxFilterValues = 100

func searchQueryOf(c echo.Context) (searchQuery, error) {
	p := parametersOf(c)
	q := searchQuery{
		Query: search.Query{
			Roles: p.roles(), Types: p.filter("type"), Categories: p.categories(), Agents: p.filter("agent"),
			Internal: p.internal(), Since: p.instant("since"), Until: p.instant("until"),
			Relevance: p.choice("sort", "newest", "relevance") == "relevance",
			Limit:     int(p.integer("limit", defaultHits, 1, maxLimit)), Offset: int(p.integer("offset", 0, 0, math.MaxInt32)),
			CountUpTo: countedHits,
		},
		text: p.first("q"), summary: p.summary(), minSeq: p.minSeq(),
	}
	for _, name := range p.filter("workSession") {
		q.Sessions = append(q.Sessions, name)
		if bare, prefixed := strings.CutPrefix(name, idPrefix); prefixed {
			q.Sessions = append(q.Sessions, bare)
		}
	}
	if p.err != nil || q.text == "" {
		return q, p.err
	}
	words, err := search.ParseWords(q.text)
	var invalid *eventstore.InvalidError
	if errors.As(err, &invalid) {
		p.refuse(invalid.Field, invalid.Value, invalid.HintText)
		return q, p.err
	}
	q.Words = words
	return q, err
}

func (p *parameters) filter(name string) []string {
	list := p.list(name)
	if len(list) > maxFilterValues {
		p.refuse(name, strings.Join(list, ","), fmt.Sprintf("give at most %d values", maxFilterValues))
	}
	return list
}
