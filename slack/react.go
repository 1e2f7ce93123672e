package slack

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// emojiNames are Slack's names of the emoji that other channels use as acknowledgements. Any other one is given by its name.
var emojiNames = map[string]string{"👀": "eyes", "👍": "+1", "✅": "white_check_mark", "⏳": "hourglass_flowing_sand", "🤔": "thinking_face", "🙏": "pray", "👌": "ok_hand",
	"🔥": "fire", "❤": "heart", "❤️": "heart", "🎉": "tada", "💯": "100", "🤖": "robot_face", "🦞": "lobster", "✍": "writing_hand", "✍️": "writing_hand", "👋": "wave"}

// React implements channel.Poster.
func (b *Apps) React(ctx context.Context, account, id, message, emoji string, on bool) error {
	const deed = "react to a message"
	own, in, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	of, ts, ok := parseMessage(message)
	if !ok || of.chat != in.chat {
		return channel.Local(deed, account, id, http.StatusBadRequest, errNoPlace, "name a message of the place")
	}
	name := strings.Trim(emoji, ":")
	if known := emojiNames[name]; known != "" {
		name = known
	}
	method, same := "reactions.add", "already_reacted"
	if !on {
		method, same = "reactions.remove", "no_reaction"
	}
	_, refused := own.queued(ctx, deed, id, reactionLane(in), method, url.Values{"channel": {strings.ToUpper(in.chat)}, "timestamp": {ts}, "name": {name}})
	if e, is := refused.(*channel.Error); is && e.Said == same { //nolint:errorlint // queued wraps none
		return nil
	}
	return refused
}

type reactionShape struct {
	User     string `json:"user"`
	Reaction string `json:"reaction"`
	ItemUser string `json:"item_user"`
	Item     struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	} `json:"item"`
}

// reacted delivers a reaction of another user to a message of the app. It returns false if that has to wait.
func (a *app) reacted(r *reactionShape, removed bool) bool {
	own := a.current().UserID
	if r.Item.Type != "message" || r.ItemUser != own || r.User == own || stamp(r.Item.TS) == 0 {
		return true
	}
	in := place{chat: r.Item.Channel}
	a.asks = 1
	f := channel.Message{ID: in.messageID(r.Item.TS), Author: channel.Author{User: a.user(r.User)}}
	return a.locate(&f, in, "") && a.deliver(channel.Inbound{Kind: channel.Reacted, Message: f, Reaction: channel.Reaction{Emoji: r.Reaction, Removed: removed}})
}
