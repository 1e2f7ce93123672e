package tasksync

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// subject determines files: a task, an agent's focus, or a month of its history.
type subject struct{ task, agent, month string }

func (s subject) String() string {
	switch {
	case s.task != "":
		return s.task
	case s.month != "":
		return s.month + " of " + s.agent
	}
	return "focus of " + s.agent
}

func (s subject) compare(t subject) int {
	return cmp.Or(cmp.Compare(s.agent, t.agent), cmp.Compare(s.month, t.month), cmp.Compare(s.task, t.task))
}

// syncQueue is the set of subjects to synchronize, each once.
type syncQueue struct {
	mu      sync.Mutex
	items   map[subject]*item
	known   bool          // the log was read
	through int64         // position in the log
	change  chan struct{} // closed and replaced with each change
}

type item struct {
	since   int64     // first event not in the files; findings count as of the position at that time
	due     time.Time // next synchronization
	tries   int       // consecutive failures
	under   bool      // in progress
	again   bool      // changed meanwhile
	owed    bool      // a last attempt before the program ends
	against int64     // since, of the change meanwhile
}

func newSyncQueue() *syncQueue {
	return &syncQueue{items: map[subject]*item{}, change: make(chan struct{})}
}

func (a *syncQueue) wake() {
	close(a.change)
	a.change = make(chan struct{})
}

// nextChange returns a channel that is closed at the next change.
func (a *syncQueue) nextChange() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.change
}

// add schedules subjects because of an event, or a finding when that was the newest event. A failing subject waits for its retry.
func (a *syncQueue) add(seq int64, subjects ...subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range subjects {
		switch it := a.items[s]; {
		case it == nil:
			a.items[s] = &item{since: seq, due: time.Now()}
		case it.under && !it.again:
			it.again, it.against = true, seq
		case it.under:
			it.against = min(it.against, seq)
		default:
			it.since = min(it.since, seq)
		}
	}
	if len(subjects) > 0 {
		a.wake()
	}
}

// see is add as of now.
func (a *syncQueue) see(subjects ...subject) {
	a.mu.Lock()
	seq := a.through
	a.mu.Unlock()
	a.add(seq, subjects...)
}

// read records the position in the log.
func (a *syncQueue) read(seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known, a.through = true, seq
	a.wake()
}

// due returns the subjects that are due, the longest waiting first. next is the time of the next one, zero for never.
func (a *syncQueue) due(now time.Time) (list []subject, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s, it := range a.items {
		switch {
		case !it.due.After(now):
			list = append(list, s)
		case next.IsZero() || it.due.Before(next):
			next = it.due
		}
	}
	slices.SortFunc(list, func(s, t subject) int {
		return cmp.Or(cmp.Compare(a.items[s].since, a.items[t].since), s.compare(t))
	})
	return list, next
}

// begin takes a subject. since is the first event that is not in its files.
func (a *syncQueue) begin(s subject) (since int64, tries int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.items[s]
	it.under = true
	return it.since, it.tries
}

// done ends what begin began, unless the subject has changed meanwhile.
func (a *syncQueue) done(s subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.items[s]; it.again {
		a.items[s] = &item{since: it.against, due: time.Now()}
	} else {
		delete(a.items, s)
	}
	a.wake()
}

// later postpones what begin began.
func (a *syncQueue) later(s subject, due time.Time, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.items[s]
	it.under, it.again, it.due = false, false, due
	if failed {
		it.tries++
		it.owed = false
	}
	a.wake()
}

// settledTo returns the event up to which the files are complete, and the number of failing subjects.
func (a *syncQueue) settledTo() (seq int64, failing int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seq = a.through
	for it := range maps.Values(a.items) {
		seq = min(seq, it.since-1)
		if it.tries > 0 {
			failing++
		}
	}
	return max(seq, 0), failing
}

// hurry retries failing subjects once at once.
func (a *syncQueue) hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for it := range maps.Values(a.items) {
		if it.tries > 0 {
			it.owed, it.due = true, time.Now()
		}
	}
	a.wake()
}

// remaining returns the subjects with events up to seq that are not in the files.
func (a *syncQueue) remaining(seq int64) (list []subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s, it := range a.items {
		if it.since <= seq {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, subject.compare)
	return list
}

// await waits until all events up to seq are in the files. A failing subject is waited for only if failing is set, or until its last
// attempt.
func (a *syncQueue) await(ctx context.Context, seq int64, failing bool) error {
	for {
		changed := a.nextChange()
		if a.isSettled(seq, failing) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (a *syncQueue) isSettled(seq int64, failing bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for it := range maps.Values(a.items) {
		if it.since <= seq && (failing || it.tries == 0 || it.owed) {
			return false
		}
	}
	return a.known && a.through >= seq
}
