package gateway

import (
	"slices"
	"sync"
)

// maxRepeated is how many commands are remembered.
const maxRepeated = 1_000

// repeated remembers which commands were done last, so that a request that is sent again does nothing again. It does not outlive the program: a
// command that is done twice does no harm.
type repeated struct {
	mu   sync.Mutex
	done map[string]struct{}
	keys []string // the oldest first
}

func newRepeated() *repeated { return &repeated{done: map[string]struct{}{}} }

// begin reports whether a command has not been done, and counts it as done.
func (r *repeated) begin(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, again := r.done[key]; again {
		return false
	}
	if len(r.keys) == maxRepeated {
		delete(r.done, r.keys[0])
		r.keys = r.keys[1:]
	}
	r.done[key] = struct{}{}
	r.keys = append(r.keys, key)
	return true
}

// forget is for a command that could not be done.
func (r *repeated) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.done, key)
	r.keys = slices.DeleteFunc(r.keys, func(other string) bool { return other == key })
}
