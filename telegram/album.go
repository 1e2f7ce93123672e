package telegram

import (
	"cmp"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

// Telegram sends the pictures and files of an album as messages of their own, which have a group in common.
const (
	albumTime = 500 * time.Millisecond // after its newest part an album is complete
	albumSize = 10                     // its most parts
)

// albumKey is an album.
type albumKey struct {
	chat  int64
	group string
}

// part is the album that an update is a part of; "" is none. An edit is of one message.
func (u *updateShape) part() albumKey {
	if u.Message == nil || u.Message.Group == "" {
		return albumKey{}
	}
	return albumKey{u.Message.Chat.ID, u.Message.Group}
}

// partsOf are the parts of an album among updates, in the order in which they were sent.
func partsOf(key albumKey, all []*updateShape) (parts []*updateShape) {
	for _, u := range all {
		if u.part() == key {
			parts = append(parts, u)
		}
	}
	slices.SortFunc(parts, func(x, y *updateShape) int { return cmp.Compare(x.Message.ID, y.Message.ID) })
	return parts
}

// merged is an album as one message: the part with a text, else the first, with the files of all.
func merged(parts []*updateShape) *messageShape {
	i := max(slices.IndexFunc(parts, func(u *updateShape) bool { text, _ := u.Message.said(); return text != "" }), 0)
	m := *parts[i].Message
	m.album = []file{}
	for _, u := range parts {
		m.album = append(m.album, u.Message.files()...)
	}
	return &m
}

// heldAlbum is the album that waits for its other parts. Its updates are not confirmed meanwhile, so that an end of the
// program loses nothing; afterwards all of them come again, and make the same message.
type heldAlbum struct {
	key   albumKey
	parts int
	since time.Time // when the newest part came
}

// wait is how long an album has to wait for more parts; 0 if it is complete.
func (h *heldAlbum) wait(key albumKey, parts int, now time.Time) time.Duration {
	if key != h.key || parts != h.parts {
		*h = heldAlbum{key, parts, now}
	}
	if parts >= albumSize {
		return 0
	}
	return max(albumTime-now.Sub(h.since), 0)
}

// takeAll handles the updates of a poll; false if the bot ends. again is how long an album at the beginning of what is
// left waits for more: then those that follow wait, too.
func (b *bot) takeAll(all []*updateShape) (again time.Duration, ok bool) {
	merges := map[int64]bool{} // ids of parts that another one has taken along
	for i, u := range all {
		key := u.part()
		switch {
		case merges[u.ID]:
			delete(merges, u.ID)
		case b.handled.has(u.ID): // by a call whose answer was lost
		case key == albumKey{}:
			if !b.update(u) {
				return 0, false
			}
		default:
			parts := partsOf(key, all[i:])
			if again = b.held.wait(key, len(parts), b.bots.o.Now()); again > 0 {
				return again, true
			}
			if !b.message(channel.Created, merged(parts), u.ID) {
				return 0, false
			}
			for _, p := range parts {
				merges[p.ID] = p.ID != u.ID
			}
			delete(merges, u.ID)
		}
		if len(merges) == 0 { // else a part that is not confirmed would come alone after a restart
			b.offset = cmp.Or(u.ID, b.offset) + 1
		}
	}
	return 0, true
}

// pollAlbum handles what a bot with a webhook has to be told while an album comes. Telegram makes one call at a time, and
// the next one only when that is answered: so the parts of an album cannot be together without being confirmed, unless
// they are asked for.
func (b *bot) pollAlbum() *channel.Error {
	if _, refused := b.ask(b.ctx, "remove the webhook", "", dropWebhookForm{}); refused != nil {
		return refused
	}
	b.offset = 0 // calls were answered instead
	for b.ctx.Err() == nil {
		updates, refused := b.poll(0)
		if refused != nil || len(updates) == 0 {
			return refused
		}
		again, handled := b.takeAll(updates)
		if !handled || again > 0 && channel.Rest(b.ctx, b.bots.o.AfterFunc, again) != nil {
			return nil
		}
	}
	return nil
}
