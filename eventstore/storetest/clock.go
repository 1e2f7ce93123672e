package storetest

import (
	"sync"
	"time"
)

// Clock is a clock that only a test moves, also backwards. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the clock function for a store.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move shifts the clock by d, which may be negative.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
