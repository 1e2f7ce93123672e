package files

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// subject is what files follow from: a task, what an agent has in focus, or a month of its history.
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

// agenda is what has to be looked at, each subject once.
type agenda struct {
	mu      sync.Mutex
	items   map[subject]*item
	begun   bool          // the log was read
	through int64         // up to here
	change  chan struct{} // is closed, and made anew, with each change
}

type item struct {
	since   int64     // the first event that is not in the files; what was found otherwise counts as of what was read by then
	due     time.Time // when it is looked at
	tries   int       // that failed, in a row
	under   bool      // way
	again   bool      // something has happened meanwhile
	owed    bool      // a last try before the program ends
	against int64     // likewise: the event
}

func newAgenda() *agenda { return &agenda{items: map[subject]*item{}, change: make(chan struct{})} }

// tell wakes all who wait. mu is held.
func (a *agenda) tell() {
	close(a.change)
	a.change = make(chan struct{})
}

// changed is closed at the next change.
func (a *agenda) changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.change
}

// add has subjects looked at because of an event, or because of what was seen when that was the newest. One that fails waits for its time.
func (a *agenda) add(seq int64, subjects ...subject) {
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
		a.tell()
	}
}

// see is add as of now.
func (a *agenda) see(subjects ...subject) {
	a.mu.Lock()
	seq := a.through
	a.mu.Unlock()
	a.add(seq, subjects...)
}

// read says how far the log was read.
func (a *agenda) read(seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun, a.through = true, seq
	a.tell()
}

// due lists what has to be looked at now, what has waited longest first. next is when there will be more, zero for never.
func (a *agenda) due(now time.Time) (list []subject, next time.Time) {
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

// begin takes a subject up. since is the first event that is not in its files.
func (a *agenda) begin(s subject) (since int64, tries int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.items[s]
	it.under = true
	return it.since, it.tries
}

// done ends what begin began, unless something has happened meanwhile.
func (a *agenda) done(s subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.items[s]; it.again {
		a.items[s] = &item{since: it.against, due: time.Now()}
	} else {
		delete(a.items, s)
	}
	a.tell()
}

// later puts off what begin began.
func (a *agenda) later(s subject, due time.Time, failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.items[s]
	it.under, it.again, it.due = false, false, due
	if failed {
		it.tries++
		it.owed = false
	}
	a.tell()
}

// settledTo is the event up to which all are in the files, and how many subjects fail.
func (a *agenda) settledTo() (seq int64, failing int) {
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

// hurry has what fails tried once more at once, instead of at its time.
func (a *agenda) hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for it := range maps.Values(a.items) {
		if it.tries > 0 {
			it.owed, it.due = true, time.Now()
		}
	}
	a.tell()
}

// remaining lists what is up to an event and not in the files.
func (a *agenda) remaining(seq int64) (list []subject) {
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

// await waits until all up to an event are in the files. One that fails is waited for only if failing says so, or until its last try.
func (a *agenda) await(ctx context.Context, seq int64, failing bool) error {
	for {
		changed := a.changed()
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

func (a *agenda) isSettled(seq int64, failing bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for it := range maps.Values(a.items) {
		if it.since <= seq && (failing || it.tries == 0 || it.owed) {
			return false
		}
	}
	return a.begun && a.through >= seq
}
