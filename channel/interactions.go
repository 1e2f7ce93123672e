package channel

import "sync"

// MaxInteractions is how many interactions are handled concurrently.
const MaxInteractions = 32

// maxKnown is how many interactions are remembered, so that none is handled twice.
const maxKnown = 4096

// BusyText is the answer if too many interactions are in progress.
const BusyText = "I am handling too many requests at the moment. Please try again in a minute."

// InteractionTracker tracks current and past interactions.
type InteractionTracker struct {
	mu      sync.Mutex
	opened  bool
	known   map[string]bool
	order   []string // of known, oldest first
	told    int      // being handled
	excused int      // being answered with BusyText
	going   sync.WaitGroup
}

// Turn says what to do with an interaction.
type Turn int

const (
	TurnNone    Turn = iota // repeated, or far too many are in progress
	TurnTold                // hand it to OnInteraction
	TurnExcused             // answer it with BusyText
)

// NewInteractionTracker returns a tracker that accepts no interactions before Open.
func NewInteractionTracker() *InteractionTracker {
	return &InteractionTracker{known: map[string]bool{}}
}

// Open accepts interactions.
func (a *InteractionTracker) Open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened = true
}

// Close accepts no more interactions, and waits for current ones.
func (a *InteractionTracker) Close() {
	a.mu.Lock()
	a.opened = false
	a.mu.Unlock()
	a.going.Wait()
}

// Begin registers an interaction and says what to do with it. After TurnTold and TurnExcused, End has to be called.
func (a *InteractionTracker) Begin(id string) Turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opened || a.known[id] {
		return TurnNone
	}
	if len(a.order) >= maxKnown {
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
	a.known[id] = true
	a.order = append(a.order, id)
	switch {
	case a.told < MaxInteractions:
		a.told++
		a.going.Add(1)
		return TurnTold
	case a.excused < MaxInteractions:
		a.excused++
		a.going.Add(1)
		return TurnExcused
	}
	return TurnNone
}

// End registers that an interaction was handled.
func (a *InteractionTracker) End(t Turn) {
	a.mu.Lock()
	if t == TurnTold {
		a.told--
	} else {
		a.excused--
	}
	a.mu.Unlock()
	a.going.Done()
}
