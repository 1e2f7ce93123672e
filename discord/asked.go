package discord

import (
	"encoding/json"
	"sync"
)

// MaxInteractions is how many interactions are told at a time.
const MaxInteractions = 32

// maxKnown bounds how many interactions are remembered, so that none is told twice.
const maxKnown = 4096

// busyText is what is said where too many ask at a time.
const busyText = "Too much is asked of me at the moment. Please try again in a minute."

// asked are the interactions that are told now, and those that were.
type asked struct {
	mu      sync.Mutex
	opened  bool
	known   map[string]bool
	order   []string // of known, the oldest first
	told    int      // are told now
	excused int      // are answered with an excuse now
	going   sync.WaitGroup
}

// turn is what becomes of an interaction.
type turn int

const (
	turnNone turn = iota // it was told before, or far too many ask
	turnTold
	turnExcused
)

func newAsked() *asked { return &asked{known: map[string]bool{}} }

func (a *asked) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opened = true
}

// close lets nothing be told any more, and waits for what is.
func (a *asked) close() {
	a.mu.Lock()
	a.opened = false
	a.mu.Unlock()
	a.going.Wait()
}

// begin says what becomes of an interaction. After turnTold and turnExcused, end has to be called.
func (a *asked) begin(id string) turn {
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

func (a *asked) end(t turn) {
	a.mu.Lock()
	if t == turnTold {
		a.told--
	} else {
		a.excused--
	}
	a.mu.Unlock()
	a.going.Done()
}

// interacted takes an interaction in, without waiting for what becomes of it.
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
		b.log.Warn("too many interactions at a time", "interaction", i.ID, "most", MaxInteractions)
		if err := b.bots.Answer(b.ctx, i, InteractionAnswer{Text: busyText, Private: true}); err != nil {
			b.log.Warn("an interaction cannot be answered", "interaction", i.ID, "error", err)
		}
	}()
}
