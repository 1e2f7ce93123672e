package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Bounds of what is read after a bot was away. What is beyond them is not told; Status.Unread counts it.
const (
	maxMissedChannels = 100 // of one guild, those that were written in last
	maxMissedPages    = 10  // of one channel
	missedPage        = 100 // messages; as many as Discord gives
	missedTries       = 3
)

// catchUp reads what was written while the bot was away, channel by channel, and tells it. Live events wait meanwhile.
func (b *bot) catchUp(channels []missed) {
	slices.SortFunc(channels, func(x, y missed) int { return cmp.Or(cmp.Compare(y.last, x.last), cmp.Compare(x.channel, y.channel)) })
	if beyond := len(channels) - maxMissedChannels; beyond > 0 {
		b.unread("too many channels were written in meanwhile", "channels", beyond)
		for _, c := range channels[maxMissedChannels:] {
			delete(b.memory.gaps, c.channel)
		}
		channels = channels[:maxMissedChannels]
	}
	for i, c := range channels {
		if b.ctx.Err() != nil {
			return
		}
		refused := b.read(c)
		switch {
		case refused == nil || refused.Class == collaborate.ClassForbidden || refused.Class == collaborate.ClassNotFound:
			delete(b.memory.gaps, c.channel) // what the bot may not read it has not missed
		case b.ctx.Err() != nil:
			return
		default: // the gaps stay, and are read after the next time
			b.unread("what was missed cannot be read", "error", refused, "channels", len(channels)-i)
			return
		}
	}
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
		if !again || try == missedTries || wait > collaborate.LongestWait || rest(b.ctx, b.bots.o.AfterFunc, wait) != nil {
			return nil, refused
		}
	}
}

func (b *bot) unread(why string, of ...any) {
	b.change(func(s *Status) { s.Unread++ })
	b.log.Warn(why, of...)
}
