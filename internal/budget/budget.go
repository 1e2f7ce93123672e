// Package budget bounds what reads hold in memory all together. Each answer has bounds of its own; thirty of them at a time are thirty times as much.
// A read takes bytes before it loads them, and keeps them until its answer has been written.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Default is enough for one of the largest answers at a time, and for hundreds of usual ones.
const Default = 256 << 20

// Free is what every read may hold without asking: small ones are answered beside whatever others hold.
const Free = 256 << 10

// Patience is how long a read waits for others by default.
const Patience = 5 * time.Second

// FullError says that other reads hold what a read would take.
type FullError struct {
	Bytes int64 // that it would hold then
	Most  int64 // that all may hold together
}

func (e *FullError) Error() string {
	return fmt.Sprintf("reads that are under way hold too much: %d bytes more do not fit into %d", e.Bytes, e.Most)
}
func (e *FullError) Code() string { return "read_busy" }
func (e *FullError) Hint() string {
	return "try again when they are done, ask for less at a time (limit), or ask one after the other"
}

// RetryAfter is when trying again is worth while.
const RetryAfter = time.Second

// Budget is shared by reads. Its methods may be called concurrently; those of nil bound nothing.
type Budget struct {
	mu    sync.Mutex
	most  int64
	used  int64
	freed chan struct{} // closed when something was given back
}

// New returns a budget of bytes.
func New(most int64) *Budget { return &Budget{most: most, freed: make(chan struct{})} }

// Used is how many bytes are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Share is what one read holds.
type Share struct {
	budget *Budget

	mu     sync.Mutex
	held   int64 // counted in the budget
	taken  int64 // of that, and of what is free
	closed bool  // what still reads then, because it was started by the read, is not bounded
}

// Open begins a read, which has to close what it gets.
func (b *Budget) Open() *Share { return &Share{budget: b} }

// Close gives back what the read holds. It may be called more than once.
func (s *Share) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.hold(0)
}

// Keep gives back all but some bytes, which are held even where there is no room for them: they are there.
func (s *Share) Keep(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = bytes
	s.hold(max(0, bytes-Free))
}

// hold changes what is counted, and tells those that wait of what is given back. s.mu is held.
func (s *Share) hold(bytes int64) {
	b := s.budget
	if b == nil || bytes == s.held {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += bytes - s.held
	if bytes < s.held {
		close(b.freed)
		b.freed = make(chan struct{})
	}
	s.held = bytes
}

// grow holds bytes if there is room. A read that is alone always has some, or the largest answers would never be given. Where there is none, changed
// is closed when something was given back. s.mu is held.
func (s *Share) grow(bytes int64) (ok bool, changed <-chan struct{}) {
	b := s.budget
	if b == nil || s.closed || bytes <= s.held {
		return true, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used > s.held && b.used-s.held+bytes > b.most {
		return false, b.freed
	}
	b.used += bytes - s.held
	s.held = bytes
	return true, nil
}

func (s *Share) take(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken += bytes
	if ok, _ := s.grow(s.taken - Free); !ok {
		return &FullError{Bytes: s.taken, Most: s.budget.most}
	}
	return nil
}

type key struct{}

// Take says that a read is about to hold so many bytes more. ctx is what Read gives; in any other one nothing is bounded. The error is a *FullError.
func Take(ctx context.Context, bytes int64) error {
	s, there := ctx.Value(key{}).(*Share)
	if !there {
		return nil
	}
	return s.take(bytes)
}

// Read reads. Where others hold what it would take, it waits for them as long as patience says, holding nothing, and reads again: read must change
// nothing. What it has taken is held until the share is closed.
func (s *Share) Read(ctx context.Context, patience time.Duration, read func(context.Context) error) error {
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		err := read(context.WithValue(ctx, key{}, s))
		var full *FullError
		if !errors.As(err, &full) || !s.wait(waiting, full.Bytes) {
			return err
		}
	}
}

// wait gives back what the read holds, then waits for room for bytes.
func (s *Share) wait(ctx context.Context, bytes int64) bool {
	s.Keep(0)
	for {
		s.mu.Lock()
		ok, changed := s.grow(bytes - Free)
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}
