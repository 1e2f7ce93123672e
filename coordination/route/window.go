package route

import (
	"slices"
	"time"
)

// Window is a sorted list of recent times, ms since 1970. They may be added in any order.
type Window []int64

// A Window drops times older than any limit looks back, and more than any limit allows.
const (
	windowSpan = int64(time.Hour / time.Millisecond)
	windowMax  = 256
)

// Add adds a time. It does not change copies of the Window.
func (w *Window) Add(at int64) {
	next := slices.Clone(*w)
	i, _ := slices.BinarySearch(next, at+1)
	next = slices.Insert(next, i, at)
	oldest := next[len(next)-1] - windowSpan
	first, _ := slices.BinarySearch(next, oldest+1)
	*w = next[max(first, len(next)-windowMax):]
}

// Count counts the times within span up to and including at.
func (w Window) Count(at int64, span time.Duration) int {
	first, _ := slices.BinarySearch(w, at-span.Milliseconds()+1)
	end, _ := slices.BinarySearch(w, at+1)
	return max(0, end-first)
}

// Limit bounds how often something may happen in a sliding span. Max is at most 256 and Span at most an hour, the capacity of a Window.
type Limit struct {
	Max  int
	Span time.Duration
}

// PairKey names two agents, in either order.
func PairKey(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + "::" + b
}

// Pairs is a limit for any two agents with overrides by both ids, "::" between, in any order.
type Pairs struct {
	Limit
	Own map[string]Limit
}

// Of returns the limit of two agents.
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
