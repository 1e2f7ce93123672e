package monitor

import (
	"context"
	"fmt"
	"math"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/projections/index"
)

const histogramPath = "/api/events/histogram"

// Limits of the number of buckets.
const (
	defaultBuckets = 100
	maxBuckets     = 500
)

// histogramAnswer answers GET /api/events/histogram.
type histogramAnswer struct {
	Buckets []bucketAnswer `json:"buckets"`
	Groups  []string       `json:"groups"` // what counts of the buckets count, those with most events first
	AsOfSeq int64          `json:"asOfSeq"`
}

type bucketAnswer struct {
	Seq0     int64   `json:"seq0"` // first event
	Seq1     int64   `json:"seq1"` // last event
	T0       float64 `json:"t0"`   // times of these events, in ms since 1970
	T1       float64 `json:"t1"`
	N        int64   `json:"n"`
	Problems int64   `json:"problems"`         // events that report a failure
	Counts   []int64 `json:"counts,omitempty"` // in the order of groups
}

func (s *Server) countEvents(c echo.Context) error {
	p := parametersOf(c)
	from, to := p.integer("from", 1, 1, math.MaxInt64), p.integer("to", math.MaxInt64, 1, math.MaxInt64)
	buckets := int(p.integer("buckets", defaultBuckets, 1, maxBuckets))
	by := index.By(p.word("by", "problem", string(index.ByType), string(index.ByAgent), string(index.ByInternal)))
	if by == "problem" { // which each bucket has anyway
		by = index.ByNothing
	}
	if from > to {
		p.refuse("to", p.first("to"), fmt.Sprintf("give at least from, which is %d", from))
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		h, err := index.Count(ctx, v.tx, from, min(to, v.asOf), buckets, by)
		if err != nil {
			return nil, err
		}
		a := histogramAnswer{Buckets: make([]bucketAnswer, len(h.Buckets)), Groups: listOf(h.Groups), AsOfSeq: v.asOf}
		for i, b := range h.Buckets {
			a.Buckets[i] = bucketAnswer(b)
		}
		return a, nil
	})
}
