// Package faults is what the test servers of the channels have in common: scripted faults of requests, and waiting without
// sleeping. Each server has its own kinds of requests, matches and effects.
package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Matcher selects requests.
type Matcher[R any] interface{ Matches(r R) bool }

// Fault affects matching requests.
type Fault[M, E any] struct {
	Match  M
	After  int // matching requests to skip first
	Times  int // 0: once; negative: always
	Effect E
}

// Faults are the active faults of a server.
type Faults[R, E any] struct {
	lock *sync.Mutex
	all  []*entry[R, E]
}

type entry[R, E any] struct {
	*Injected
	matches func(R) bool
	effect  E
}

// Injected is an active fault.
type Injected struct {
	lock         *sync.Mutex
	after, times int
	seen, hits   int
	removed      bool
}

// New returns no faults. lock is the server's, which guards them.
func New[R, E any](lock *sync.Mutex) *Faults[R, E] { return &Faults[R, E]{lock: lock} }

// Inject adds a fault. Of several that match, the oldest unused one applies.
func Inject[R, E any, M Matcher[R]](to *Faults[R, E], f Fault[M, E]) *Injected {
	to.lock.Lock()
	defer to.lock.Unlock()
	i := &Injected{lock: to.lock, after: f.After, times: f.Times}
	to.all = append(to.all, &entry[R, E]{i, f.Match.Matches, f.Effect})
	return i
}

// For returns the effect of the fault for a request, the zero one if there is none. The lock is held.
func (f *Faults[R, E]) For(r R) (effect E) {
	for _, e := range f.all {
		if !e.removed && e.matches(r) && Due(&e.seen, &e.hits, e.after, e.times) {
			return e.effect
		}
	}
	return effect
}

// Due counts one match and reports whether a fault applies.
func Due(seen, hits *int, after, times int) bool {
	*seen++
	if *seen <= after || times >= 0 && *hits >= max(times, 1) {
		return false
	}
	*hits++
	return true
}

// Hits is the number of requests affected.
func (i *Injected) Hits() int {
	i.lock.Lock()
	defer i.lock.Unlock()
	return i.hits
}

// Remove ends the fault.
func (i *Injected) Remove() {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.removed = true
}

// Cut cuts the connection of a request; there is no answer: it returns false.
func Cut(w http.ResponseWriter) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
	return false
}

// Hold blocks a request until release is closed, and then returns true. If the client gives up before, or the server is
// closed, the connection is cut.
func Hold(w http.ResponseWriter, r *http.Request, release, closed <-chan struct{}) bool {
	select {
	case <-release:
		return true
	case <-r.Context().Done():
	case <-closed:
	}
	return Cut(w)
}

// Until returns nil as soon as so returns true: it is called at once, and whenever the channel that changed returns is
// closed. The error is the context's, or over, once closed is.
func Until(ctx context.Context, changed func() <-chan struct{}, closed <-chan struct{}, over error, so func() bool) error {
	for {
		next := changed()
		if so() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		case <-closed:
			return over
		}
	}
}

// First waits for an element of a list that passes test, and returns the first one. until is that of the server; what and
// args say in an error what is waited for.
func First[T any](ctx context.Context, until func(context.Context, func() bool) error, list func() []T, test func(T) bool, what string, args ...any) (T, error) {
	var found T
	err := until(ctx, func() bool {
		all := list()
		i := slices.IndexFunc(all, test)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found, Waited(err, what, args...)
}

// Any passes all elements of a list.
func Any[T any](T) bool { return true }

// Waited is the error of waiting for something, nil for none.
func Waited(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("wait for %s: %w", fmt.Sprintf(what, args...), err)
}
