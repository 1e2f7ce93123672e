// Package budget bounds the memory that concurrent reads use together; each answer has bounds of its own. A read
// takes bytes before it loads them, and keeps them until its answer has been written.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Default is enough for one of the largest answers at a time, or for hundreds of usual ones.
const Default = 256 << 20

// Free is what every read may hold beside the budget, so that small reads never wait.
const Free = 256 << 10

// Patience is how long a read waits for others by default.
const Patience = 5 * time.Second

// FullError says that other reads hold the memory that a read needs.
type FullError struct {
	Bytes int64 // bytes it would hold
	Most  int64 // bytes that all may hold together
}

func (e *FullError) Error() string {
	return fmt.Sprintf("concurrent reads hold too much memory: %d more bytes exceed the limit of %d", e.Bytes, e.Most)
}
func (e *FullError) Code() string { return "read_busy" }
func (e *FullError) Hint() string {
	return "retry later, ask for less at a time (limit), or send requests one after the other"
}

// RetryAfter says when a retry is worthwhile.
const RetryAfter = time.Second

// Budget is shared by reads. Its methods may be called concurrently; a nil budget bounds nothing.
type Budget struct {
	mu    sync.Mutex
	most  int64
	used  int64
	freed chan struct{} // closed when bytes are given back
}

// New returns a budget of bytes.
func New(most int64) *Budget { return &Budget{most: most, freed: make(chan struct{})} }

// Used returns how many bytes are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Share is the memory of one read.
type Share struct {
	budget *Budget

	mu     sync.Mutex
	held   int64 // counted in the budget
	taken  int64 // counted, plus what is free
	closed bool  // goroutines of the read that still run after Close are not bounded
}

// Open starts a read, which must close the share.
func (b *Budget) Open() *Share { return &Share{budget: b} }

// Close gives back what the read holds. It may be called more than once.
func (s *Share) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.hold(0)
}

// Keep gives back all but n bytes, which are held even beyond the limit: they are loaded already.
func (s *Share) Keep(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = bytes
	s.hold(max(0, bytes-Free))
}

// hold changes what is counted, and wakes waiting reads when bytes are given back. s.mu is held.
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

// grow holds more bytes if the limit allows it. A read that is alone always may, or the largest answers would be
// impossible. Otherwise changed is a channel that is closed when bytes are given back. s.mu is held.
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

// Take announces that a read will hold so many more bytes. ctx must be the one that Read passes; with any other one
// nothing is bounded. The error is a *FullError.
func Take(ctx context.Context, bytes int64) error {
	s, there := ctx.Value(key{}).(*Share)
	if !there {
		return nil
	}
	return s.take(bytes)
}

// Read calls read. If other reads hold the memory that it needs, it gives back its own, waits for up to patience,
// and calls read again: read must change nothing. What it has taken is held until the share is closed.
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

// wait gives back what the read holds, then waits until bytes are available.
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
