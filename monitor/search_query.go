package monitor

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/search"
)

// searchQuery is what the search endpoints are asked.
type searchQuery struct {
	search.Query
	text    string // q as it was given; "" where nothing is looked for
	summary bool   // of work sessions
	minSeq  int64
}

const defaultHits = 50

// countedHits is how many hits are counted: enough for every reader, and as quick in a log of years as in one of a week.
const countedHits = 10_000

// maxFilterValues bounds each list of values: every one is a term of the query.
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
		p.refuse(invalid.Field, invalid.Value, invalid.Mend)
		return q, p.err
	}
	q.Words = words
	return q, err
}

// filter reads a list of values to filter by.
func (p *parameters) filter(name string) []string {
	list := p.list(name)
	if len(list) > maxFilterValues {
		p.refuse(name, strings.Join(list, ","), fmt.Sprintf("give at most %d values", maxFilterValues))
	}
	return list
}
