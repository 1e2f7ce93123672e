package search

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// Query says which events are looked for.
type Query struct {
	Words                            Words
	Roles, Types, Categories, Agents []string // none: any
	Sessions                         []string // workSessionIds; none: any
	Internal                         bool     // with our own book-keeping
	Since, Until                     *float64 // event time in ms since 1970, both inclusive; nil: unbounded
	UpTo                             *int64   // events after this seq are as if they were not there; nil: none is left out
	Relevance                        bool     // the best first, of the newest Ranked hits; else the newest first
	Limit, Offset                    int
	CountUpTo                        int // hits are not counted beyond this and the page; 0: all are
}

// Ranked is how many hits are put in order of relevance at most; older ones are counted, but not shown.
const Ranked = 2_000

// Hits are events that a query found.
type Hits struct {
	Seqs  []int64 // a page of them
	Total int64   // all of them
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

// Find finds events.
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
		return h, fmt.Errorf("count what is found: %w", err)
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

// countUpTo is how many hits are counted at most, 0 for all. Those of the page and one after it always are, so that a total tells
// whether there is a next page.
func (q *Query) countUpTo() int64 {
	if q.CountUpTo == 0 {
		return 0
	}
	return max(int64(q.CountUpTo), int64(q.Offset)+int64(q.Limit)+1)
}

func seqsOf(ctx context.Context, tx *sql.Tx, statement string, args ...any) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seqs := []int64{}
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}

// match writes what FTS5 is asked for: the words, and the tokens of the filters.
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

// matchAny demands one of some values of a filter.
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
