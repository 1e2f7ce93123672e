package search

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/pronto-lab/openclawd/projections"
)

// Query selects events by words and filters.
type Query struct {
	Words                            Words
	Roles, Types, Categories, Agents []string // none: any
	Sessions                         []string // workSessionIds; none: any
	Internal                         bool     // include internal bookkeeping
	Since, Until                     *float64 // event time in ms since 1970, both inclusive; nil: unbounded
	UpTo                             *int64   // later events are ignored; nil: none
	Relevance                        bool     // best first, among the newest Ranked hits; otherwise newest first
	Limit, Offset                    int
	CountUpTo                        int // hits beyond this and the page are not counted; 0: all are
}

// Ranked is how many hits are sorted by relevance at most; older ones are counted, but not returned.
const Ranked = 2_000

// Hits is the result of a query.
type Hits struct {
	Seqs  []int64 // a page of them
	Total int64   // number of all hits
	Exact bool    // false: there may be more than Total
}

const (
	upToSeq      = " FROM texts WHERE texts MATCH ? AND rowid <= ?"
	selectNewest = "SELECT rowid" + upToSeq + " ORDER BY rowid DESC LIMIT ? OFFSET ?"
	selectRanked = "SELECT rowid FROM (SELECT rowid, rank" + upToSeq + ` ORDER BY rowid DESC LIMIT ?)
 ORDER BY rank, rowid DESC LIMIT ? OFFSET ?`
	countHits = "SELECT count(*) FROM (SELECT 1" + upToSeq + " LIMIT ?)"

	// CROSS JOIN fixes the order of the loops: one look-up per hit.
	inTime = ` FROM texts CROSS JOIN docs d ON d.seq = texts.rowid
 WHERE texts MATCH ? AND d.time >= ? AND d.time <= ? AND texts.rowid >= ? AND texts.rowid <= ?`
	selectNewestTimed = "SELECT texts.rowid" + inTime + " ORDER BY texts.rowid DESC LIMIT ? OFFSET ?"
	selectRankedTimed = "SELECT rowid FROM (SELECT texts.rowid AS rowid, texts.rank AS rank" + inTime + ` ORDER BY texts.rowid DESC LIMIT ?)
 ORDER BY rank, rowid DESC LIMIT ? OFFSET ?`
	countHitsTimed = "SELECT count(*) FROM (SELECT 1" + inTime + " LIMIT ?)"
)

// Find returns a page of events.
func Find(ctx context.Context, tx *sql.Tx, q Query) (h Hits, err error) {
	statement, counting := selectNewest, countHits
	args := []any{q.match(), q.upTo()}
	if q.timed() {
		statement, counting = selectNewestTimed, countHitsTimed
		if args, err = q.within(ctx, tx); err != nil {
			return h, err
		}
	}
	counted := args[:len(args):len(args)]
	if q.Relevance {
		if statement = selectRanked; q.timed() {
			statement = selectRankedTimed
		}
		args = append(args, Ranked)
	}
	if h.Seqs, err = seqsOf(ctx, tx, statement, append(args, q.Limit, q.Offset)...); err != nil {
		return h, fmt.Errorf("search: %w", err)
	}
	h.Exact = true
	if n := len(h.Seqs); n < q.Limit && (n > 0 || q.Offset == 0) && !q.Relevance {
		h.Total = int64(q.Offset + n)
		return h, nil
	}
	bound := q.countUpTo()
	if bound > 0 {
		counted = append(counted, bound+1)
	} else {
		counted = append(counted, -1) // SQLite's "no limit"
	}
	if err := tx.QueryRowContext(ctx, counting, counted...).Scan(&h.Total); err != nil {
		return h, fmt.Errorf("count hits: %w", err)
	}
	if bound > 0 && h.Total > bound {
		h.Total, h.Exact = bound, false
	}
	return h, nil
}

// upTo is the last seq that may be found.
func (q *Query) upTo() int64 {
	if q.UpTo == nil {
		return math.MaxInt64
	}
	return *q.UpTo
}

// countUpTo bounds the counted hits, 0 for all. Those of the page and one after it are always counted, so that a total
// tells whether there is a next page.
func (q *Query) countUpTo() int64 {
	if q.CountUpTo == 0 {
		return 0
	}
	return max(int64(q.CountUpTo), int64(q.Offset)+int64(q.Limit)+1)
}

func seqsOf(ctx context.Context, tx *sql.Tx, statement string, args ...any) ([]int64, error) {
	seqs, err := projections.ListRows(ctx, tx, "search", statement, args, func(rows *sql.Rows, seq *int64) error { return rows.Scan(seq) })
	if seqs == nil && err == nil {
		seqs = []int64{}
	}
	return seqs, err
}

// match builds the FTS5 expression: the words, and the tokens of the filters.
func (q *Query) match() string {
	var b strings.Builder
	b.WriteByte('(')
	q.Words.match(&b)
	if !q.Internal {
		b.WriteString(` NOT "` + facetToken(facetInternal, "") + `"`)
	}
	b.WriteByte(')')
	matchAny(&b, facetRole, q.Roles)
	matchAny(&b, facetType, q.Types)
	matchAny(&b, facetCategory, q.Categories)
	matchAny(&b, facetAgent, q.Agents)
	matchAny(&b, facetSession, q.Sessions)
	return b.String()
}

// matchAny requires one of some values of a filter.
func matchAny(b *strings.Builder, kind facet, values []string) {
	for i, value := range values {
		if i == 0 {
			b.WriteString(` AND ("`)
		} else {
			b.WriteString(`" OR "`)
		}
		b.WriteString(facetToken(kind, value))
	}
	if len(values) > 0 {
		b.WriteString(`")`)
	}
}
