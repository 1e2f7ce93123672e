package discord

import (
	"encoding/json"
	"sync"
)

// MaxInteractions is how many interactions are handled concurrently.
const MaxInteractions = 32

// maxKnown is how many interactions are remembered, so that none is handled twice.
const maxKnown = 4096

// busyText is the answer if too many interactions are in progress.
const busyText = "I am handling too many requests at the moment. Please try again in a minute."

// interactionTracker tracks current and past interactions.
type interactionTracker struct {
	mu      sync.Mutex
	opened  bool
	known   map[string]bool
	order   []string // of known, oldest first
	told    int      // being handled
	excused int      // being answered with busyText
	going   sync.WaitGroup
}

// interactionAction says what to do with an interaction.
type interactionAction int

const (
	turnNone interactionAction = iota // repeated, or far too many are in progress
	turnTold
	turnExcused
)

func newInteractionTracker() *interactionTracker {
	return &interactionTracker{known: map[string]bool{}}
}

func (a *interactionTracker) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened = true
}

// close accepts no more interactions, and waits for current ones.
func (a *interactionTracker) close() {
	a.mu.Lock()
	a.opened = false
	a.mu.Unlock()
	a.going.Wait()
}

// begin registers an interaction and says what to do with it. After turnTold and turnExcused, end has to be called.
func (a *interactionTracker) begin(id string) interactionAction {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opened || a.known[id] {
		return turnNone
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
		return turnTold
	case a.excused < MaxInteractions:
		a.excused++
		a.going.Add(1)
		return turnExcused
	}
	return turnNone
}

func (a *interactionTracker) end(t interactionAction) {
	a.mu.Lock()
	if t == turnTold {
		a.told--
	} else {
		a.excused--
	}
	a.mu.Unlock()
	a.going.Done()
}

func (b *bot) interacted(data json.RawMessage) {
	s, ok := shape[interactionShape](b, dispatch{"INTERACTION_CREATE", data})
	if !ok {
		return
	}
	i, ok := s.interaction()
	if !ok {
		return
	}
	i.AccountID = b.account
	if who, known := b.bots.Registry().Account(b.account); known {
		i.AgentID = who.AgentID
	}
	t := b.bots.asked.begin(i.ID)
	if t == turnNone {
		return
	}
	go func() {
		defer b.bots.asked.end(t)
		if t == turnTold {
			b.bots.o.OnInteraction(i)
			return
		}
		b.log.Warn("too many interactions in progress; answering that the bot is busy", "interaction", i.ID, "most", MaxInteractions)
		if err := b.bots.Answer(b.ctx, i, InteractionAnswer{Text: busyText, Private: true}); err != nil {
			b.log.Warn("cannot answer an interaction", "interaction", i.ID, "err", err)
		}
	}()
}
