package telegram

import (
	"slices"

	"github.com/pronto-lab/openclawd/channel"
)

// reactedShape is a change of a user's reactions to a message. Bots are told of it in private chats, and in groups where they are
// administrators.
type reactedShape struct {
	Chat      chatShape       `json:"chat"`
	MessageID int             `json:"message_id"`
	User      *userShape      `json:"user"` // nil: an anonymous one
	Old       []reactionShape `json:"old_reaction"`
	New       []reactionShape `json:"new_reaction"`
}

type reactionShape struct {
	Type   string `json:"type"`
	Emoji  string `json:"emoji"`
	Custom string `json:"custom_emoji_id"`
}

func (r reactionShape) name() string {
	if r.Type == "custom_emoji" {
		return r.Custom
	}
	return r.Emoji
}

// reacted delivers what was added and removed; false if it was not, because the bot ends.
func (b *bot) reacted(r *reactedShape) bool {
	user := b.user.Load()
	id, known := b.idOf(channel.Edited, &messageShape{ID: r.MessageID, Chat: r.Chat})
	if r.User == nil || r.User.ID == user || !known {
		return true
	}
	f := channel.Message{ID: id, ChannelID: placeID(numbered(&r.Chat, user)), Author: channel.Author{User: r.User.user()}}
	if r.Chat.Type != typePrivate {
		f.GuildID = f.ChannelID
	}
	deliver := func(all, others []reactionShape, removed bool) bool {
		for _, one := range all {
			if one.name() == "" || slices.Contains(others, one) {
				continue
			}
			if !b.bots.deliver(b.ctx, channel.Inbound{Kind: channel.Reacted, AccountID: b.account, BotID: idText(user), Message: f,
				Reaction: channel.Reaction{Emoji: one.name(), Removed: removed}}) {
				return false
			}
		}
		return true
	}
	return deliver(r.Old, r.New, true) && deliver(r.New, r.Old, false)
}
