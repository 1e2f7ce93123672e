package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// Limits of fetching after a gap. What exceeds the first three is not delivered; health.Bot.Unread counts it.
const (
	maxMissedChannels = 100 // channels per guild, most recently used first
	maxMissedPages    = 10  // messages per channel
	missedPage        = 100 // messages per request; Discord's maximum
	missedTries       = 3
	maxUnreadable     = 3           // failed channels before the rest is postponed
	mostBehind        = time.Minute // delay until then
)

// catchUp fetches and delivers what was written during a gap, channel by channel. Live events wait meanwhile. In a
// channel that cannot be read for now, live messages are postponed with the rest: nothing newer is delivered before
// what was missed, so that continuing from the last message after a restart misses nothing.
func (b *bot) catchUp(channels []missed) {
	slices.SortFunc(channels, func(x, y missed) int { return cmp.Or(cmp.Compare(y.last, x.last), cmp.Compare(x.channel, y.channel)) })
	if beyond := len(channels) - maxMissedChannels; beyond > 0 {
		b.unread("too many channels with missed messages; skipping the rest", "channels", beyond)
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
	var why *channel.Error
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
			delete(b.memory.gaps, c.channel) // unreadable messages are not missed
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
		b.unread("cannot fetch missed messages; will retry", "err", why, "channels", len(failed))
	}
	b.catchUpLater(max(why.Failure.RetryAfter, min(b.bots.o.Retries().After(b.fails+1), mostBehind)))
}

// catchUpLater makes fold fetch the rest after a delay.
func (b *bot) catchUpLater(wait time.Duration) {
	if b.later != nil {
		b.later.Stop()
	}
	b.later = b.bots.o.AfterFunc(b.bots.o.Jitter(wait), func() { signal(b.again) })
}

// isPostponed reports whether a channel's live messages are postponed until its gap is fetched.
func (b *bot) isPostponed(channel string) bool {
	return slices.ContainsFunc(b.behind, func(c missed) bool { return c.channel == channel })
}

// read fetches one channel.
func (b *bot) read(c missed) *channel.Error {
	after := c.after
	for range maxMissedPages {
		page, refused := b.page(c.channel, after)
		if refused != nil {
			return refused
		}
		for i := range page {
			page[i].GuildID = c.guild
			b.message(channel.Created, &page[i], true)
			after = max(after, snowflake(page[i].ID))
		}
		if b.ctx.Err() == nil {
			b.memory.gaps[c.channel] = mark{c.guild, after}
		}
		if len(page) < missedPage {
			return nil
		}
	}
	b.unread("too many missed messages in a channel; skipping the oldest", "channel", c.channel, "channels", 1)
	return nil
}

// page is up to a hundred messages after one, oldest first.
func (b *bot) page(place string, after uint64) (page []messageShape, refused *channel.Error) {
	path := fmt.Sprintf("/channels/%s/messages?limit=%d&after=%d", place, missedPage, after)
	for try := 1; ; try++ {
		var a answer
		a, refused = b.ask(b.ctx, "read missed messages", place, request{method: http.MethodGet, path: path})
		if refused == nil {
			if err := json.Unmarshal(a.body, &page); err != nil {
				return nil, &channel.Error{Deed: "read missed messages", AccountID: b.account, PlaceID: place, Class: collaborate.ClassRejected, Err: err}
			}
			slices.SortFunc(page, func(x, y messageShape) int { return cmp.Compare(snowflake(x.ID), snowflake(y.ID)) })
			return page, nil
		}
		wait := max(refused.Failure.RetryAfter, b.bots.o.Least<<(try-1))
		again := slices.Contains([]collaborate.Class{collaborate.ClassRateLimited, collaborate.ClassUnavailable, collaborate.ClassTimeout,
			collaborate.ClassUnsent, collaborate.ClassLost}, refused.Class)
		if !again || try == missedTries || b.fails > 0 || wait > collaborate.LongestWait || channel.Rest(b.ctx, b.bots.o.AfterFunc, wait) != nil {
			return nil, refused
		}
	}
}

func (b *bot) unread(why string, of ...any) {
	b.status.Update(func(s *health.Bot) { s.Unread++ })
	b.log.Warn(why, of...)
}
