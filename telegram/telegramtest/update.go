package telegramtest

import (
	"encoding/json"
	"slices"
	"time"
)

// updates are those of one bot that are not confirmed yet.
type updates struct {
	last    int64 // last id given out
	pending []json.RawMessage
	ids     []int64 // of pending
	past    []json.RawMessage
	pastIDs []int64
	allowed []string // kinds; nil: all but those of unasked
	polls   int      // number of getUpdates so far: each ends the one before
	waiting bool     // a getUpdates waits
	drops   int      // number of times that the connection was broken

	again map[int64]bool // updates that come once more after they are confirmed
}

// unasked are the kinds of updates that a bot receives only if it asks for them.
var unasked = []string{"chat_member", "message_reaction", "message_reaction_count"}

// queue adds an update for a bot. The lock is held.
func (s *Server) queue(bot *account, kind string, u Update) {
	own := &bot.updates
	if own.allowed == nil && slices.Contains(unasked, kind) || own.allowed != nil && !slices.Contains(own.allowed, kind) {
		return
	}
	u.UpdateID = s.nextUpdate(bot)
	own.pending, own.ids = append(own.pending, encode(u)), append(own.ids, u.UpdateID)
	s.happened()
}

// nextUpdate is the id of a bot's next update.
func (s *Server) nextUpdate(bot *account) int64 {
	own := &bot.updates
	if own.last == 0 {
		own.last = 100_000_000 + bot.ID%1_000_000
	}
	own.last++
	if s.twice {
		if own.again == nil {
			own.again = map[int64]bool{}
		}
		own.again[own.last] = true
	}
	return own.last
}

// Tell queues an update of any form, such as one that a client cannot read.
func (b *Bot) Tell(kind string, what any) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	id, own := b.s.nextUpdate(b.own), &b.own.updates
	own.pending, own.ids = append(own.pending, encode(map[string]any{"update_id": id, kind: what})), append(own.ids, id)
	b.s.happened()
}

// confirm forgets the updates before an offset.
func (u *updates) confirm(offset int64) {
	if offset < 0 { // the last ones: those before are forgotten
		if n := int(-offset); n < len(u.ids) {
			offset = u.ids[len(u.ids)-n]
		}
	}
	var pending []json.RawMessage
	var ids []int64
	for i, id := range u.ids {
		switch {
		case id >= offset || u.again[id]:
			pending, ids = append(pending, u.pending[i]), append(ids, id)
			if id < offset {
				delete(u.again, id)
			}
		default:
			u.past, u.pastIDs = append(u.past, u.pending[i]), append(u.pastIDs, id)
		}
	}
	u.pending, u.ids = pending, ids
}

// RepeatUpdates makes every update from now on come twice, the second time after it was confirmed, or not.
func (s *Server) RepeatUpdates(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twice = on
}

// Drop breaks the connection of a getUpdates that waits.
func (b *Bot) Drop() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.own.updates.drops++
	b.s.happened()
}

// dropped is the refusal of a request whose connection is broken instead.
var dropped = &Error{}

// Unconfirm makes Telegram deliver the last n confirmed updates once more, in order, as it may after a failure of its
// own.
func (b *Bot) Unconfirm(n int) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	u := &b.own.updates
	at := max(len(u.past)-n, 0)
	u.pending, u.ids = append(slices.Clone(u.past[at:]), u.pending...), append(slices.Clone(u.pastIDs[at:]), u.ids...)
	u.past, u.pastIDs = u.past[:at], u.pastIDs[:at]
	b.s.happened()
}

// Pending is the number of updates that the bot has not confirmed.
func (b *Bot) Pending() int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return len(b.own.updates.pending)
}

// Polling reports whether a getUpdates of the bot waits.
func (b *Bot) Polling() bool {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.own.updates.waiting
}

const (
	maxUpdates = 100
	maxWait    = 50 * time.Second
)

// getUpdates waits for updates. It takes the lock itself.
func (s *Server) getUpdates(c *call, effect Effect) (any, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := s.beginPoll(c); refusal != nil {
		return nil, refusal
	}
	own := &c.by.updates
	own.polls++
	mine, drops := own.polls, own.drops
	s.happened()
	if c.has("offset") && !effect.unconfirmed {
		own.confirm(c.number("offset"))
	}
	limit := int(c.number("limit"))
	if limit < 1 || limit > maxUpdates {
		limit = maxUpdates
	}
	timer := time.NewTimer(min(time.Duration(c.number("timeout"))*time.Second, maxWait))
	defer timer.Stop()
	own.waiting = true
	defer func() {
		if own.polls == mine {
			own.waiting = false
			s.happened()
		}
	}()
	over := false
	for {
		switch {
		case own.polls != mine:
			return nil, conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
		case c.by.hook != nil:
			return nil, conflict("terminated by setWebhook request")
		case c.by.revoked:
			return nil, unauthorized()
		case own.drops != drops:
			return nil, dropped
		case len(own.pending) > 0 || over:
			return slices.Clone(own.pending[:min(limit, len(own.pending))]), nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-c.r.Context().Done():
			over = true
		case <-s.closed:
			over = true
		}
		s.mu.Lock()
	}
}

func (s *Server) beginPoll(c *call) *Error {
	switch {
	case c.by == nil || c.by.revoked:
		return unauthorized()
	case c.by.hook != nil:
		return conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	return c.by.updates.allow(c)
}

// allow keeps the kinds of updates that a request asks for; the empty list is the default again.
func (u *updates) allow(c *call) *Error {
	if !c.has("allowed_updates") {
		return nil
	}
	var kinds []string
	if refusal := c.object("allowed_updates", &kinds); refusal != nil {
		return refusal
	}
	u.allowed = nil
	if len(kinds) > 0 {
		u.allowed = kinds
	}
	return nil
}
