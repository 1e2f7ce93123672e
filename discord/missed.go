package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Bounds of what is read after a bot was away. What is beyond the first three is not told; Status.Unread counts it.
const (
	maxMissedChannels = 100 // of one guild, those that were written in last
	maxMissedPages    = 10  // of one channel
	missedPage        = 100 // messages; as many as Discord gives
	missedTries       = 3
	maxUnreadable     = 3           // channels that fail, before others wait for the next time
	mostBehind        = time.Minute // before that
)

// catchUp reads what was written while the bot was away, channel by channel, and tells it. Live events wait meanwhile. What is written in a channel
// that cannot be read for now is read with the rest, when that is tried again: nothing is told that came after what was missed, and whoever goes
// on from the last message after a restart has missed nothing.
func (b *bot) catchUp(channels []missed) {
	slices.SortFunc(channels, func(x, y missed) int { return cmp.Or(cmp.Compare(y.last, x.last), cmp.Compare(x.channel, y.channel)) })
	if beyond := len(channels) - maxMissedChannels; beyond > 0 {
		b.unread("too many channels were written in meanwhile", "channels", beyond)
		for _, c := range channels[maxMissedChannels:] {
			delete(b.memory.gaps, c.channel)
		}
		channels = channels[:maxMissedChannels]
	}
	for _, c := range b.behind {
		if !slices.ContainsFunc(channels, func(other missed) bool { return other.channel == c.channel }) {
			channels = append(channels, c)
		}
	}
	var failed []missed
	var why *Error
	for i, c := range channels {
		if b.ctx.Err() != nil {
			return
		}
		if len(failed) == maxUnreadable {
			failed = append(slices.Clone(channels[i:]), failed...) // these first, the next time
			break
		}
		refused := b.read(c)
		switch {
		case refused == nil || refused.Class == collaborate.ClassForbidden || refused.Class == collaborate.ClassNotFound:
			delete(b.memory.gaps, c.channel) // what the bot may not read it has not missed
		case b.ctx.Err() != nil:
			return
		default: // the gap stays
			failed, why = append(failed, c), refused
		}
	}
	if b.behind = failed; len(failed) == 0 {
		b.fails = 0
		return
	}
	if b.fails++; b.fails == 1 {
		b.unread("what was missed cannot be read for now", "error", why, "channels", len(failed))
	}
	b.catchUpLater(max(why.Failure.RetryAfter, min(b.bots.o.Least<<min(b.fails, 16), b.bots.o.Most, mostBehind)))
}

// catchUpLater has fold read what it is behind with, after a while.
func (b *bot) catchUpLater(wait time.Duration) {
	if b.later != nil {
		b.later.Stop()
	}
	b.later = b.bots.o.AfterFunc(b.bots.o.Jitter(wait), func() { signal(b.again) })
}

// waits says whether what is written in a channel is read later, with what was missed there before.
func (b *bot) waits(channel string) bool {
	return slices.ContainsFunc(b.behind, func(c missed) bool { return c.channel == channel })
}

// read reads one channel.
func (b *bot) read(c missed) *Error {
	after := c.after
	for range maxMissedPages {
		page, refused := b.page(c.channel, after)
		if refused != nil {
			return refused
		}
		for i := range page {
			page[i].GuildID = c.guild
			b.message(Created, &page[i], true)
			after = max(after, snowflake(page[i].ID))
		}
		if b.ctx.Err() == nil {
			b.memory.gaps[c.channel] = mark{c.guild, after}
		}
		if len(page) < missedPage {
			return nil
		}
	}
	b.unread("too much was written in a channel meanwhile", "channel", c.channel, "channels", 1)
	return nil
}

// page is up to a hundred messages after one, oldest first.
func (b *bot) page(channel string, after uint64) (page []messageShape, refused *Error) {
	path := fmt.Sprintf("/channels/%s/messages?limit=%d&after=%d", channel, missedPage, after)
	for try := 1; ; try++ {
		var a answer
		a, refused = b.ask(b.ctx, "read missed messages", channel, request{method: http.MethodGet, path: path})
		if refused == nil {
			if err := json.Unmarshal(a.body, &page); err != nil {
				return nil, &Error{Deed: "read missed messages", AccountID: b.account, PlaceID: channel, Class: collaborate.ClassRejected, err: err}
			}
			slices.SortFunc(page, func(x, y messageShape) int { return cmp.Compare(snowflake(x.ID), snowflake(y.ID)) })
			return page, nil
		}
		wait := max(refused.Failure.RetryAfter, b.bots.o.Least<<(try-1))
		again := slices.Contains([]collaborate.Class{collaborate.ClassRateLimited, collaborate.ClassUnavailable, collaborate.ClassTimeout,
			collaborate.ClassUnsent, collaborate.ClassLost}, refused.Class)
		if !again || try == missedTries || b.fails > 0 || wait > collaborate.LongestWait || rest(b.ctx, b.bots.o.AfterFunc, wait) != nil {
			return nil, refused
		}
	}
}

func (b *bot) unread(why string, of ...any) {
	b.change(func(s *Status) { s.Unread++ })
	b.log.Warn(why, of...)
}
