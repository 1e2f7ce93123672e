package route

import (
	"slices"
	"time"
)

// Window is when something happened lately, ms since 1970, in order. What happened may be told in any order.
type Window []int64

// A Window forgets what is longer ago than any limit looks back, and what is more than any limit allows.
const (
	windowSpan = int64(time.Hour / time.Millisecond)
	windowMax  = 256
)

// Add notes that it happened at a time. What the window had before stays in the hands of whoever has a copy.
func (w *Window) Add(at int64) {
	next := slices.Clone(*w)
	i, _ := slices.BinarySearch(next, at+1)
	next = slices.Insert(next, i, at)
	oldest := next[len(next)-1] - windowSpan
	first, _ := slices.BinarySearch(next, oldest+1)
	*w = next[max(first, len(next)-windowMax):]
}

// Count is how often it happened in the span that ends at a time: at that time, too, and no longer ago than the span.
func (w Window) Count(at int64, span time.Duration) int {
	first, _ := slices.BinarySearch(w, at-span.Milliseconds()+1)
	end, _ := slices.BinarySearch(w, at+1)
	return max(0, end-first)
}

// FreeAt is when it may happen again within the limit: at itself if it may now. Limits without a maximum allow nothing, for ever: 0.
func (w Window) FreeAt(at int64, l Limit) int64 {
	if l.Max <= 0 {
		return 0
	}
	n := w.Count(at, l.Span)
	if n < l.Max {
		return at
	}
	end, _ := slices.BinarySearch(w, at+1)
	return w[end-l.Max] + l.Span.Milliseconds()
}

// Limit is how often something may happen in a span of time that slides. Max is at most 256 and Span at most an hour: a Window remembers no more.
type Limit struct {
	Max  int
	Span time.Duration
}

// PairKey names two agents, in whichever order.
func PairKey(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + "::" + b
}

// Pairs is a limit for any two agents, and others for some of them, by both ids with "::" between, in any order.
type Pairs struct {
	Limit
	Own map[string]Limit
}

// Of is the limit that two agents share.
func (p Pairs) Of(a, b string) Limit {
	if l, ok := p.Own[PairKey(a, b)]; ok {
		return l
	}
	if a < b {
		a, b = b, a
	}
	if l, ok := p.Own[a+"::"+b]; ok {
		return l
	}
	return p.Limit
}
