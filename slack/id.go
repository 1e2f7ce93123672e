package slack

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// place is a conversation, or a thread in it, as Slack names it.
type place struct {
	chat   string // C0123
	thread string // timestamp of its first message; "" is the conversation itself
}

func (p place) id() string {
	return coordination.ChatID{Channel: coordination.Slack, Chat: strings.ToLower(p.chat), Thread: p.thread}.String()
}

// messageID is the id of a message: its timestamp is unique in its conversation, whether it is in a thread or not.
func (p place) messageID(ts string) string {
	return coordination.ChatID{Channel: coordination.Slack, Chat: strings.ToLower(p.chat), Message: ts}.String()
}

// guildID is the id of a workspace; "" if that is not known.
func guildID(team string) string {
	if team == "" {
		return ""
	}
	return place{chat: team}.id()
}

// parsePlace reads the id of a conversation or thread.
func parsePlace(id string) (p place, ok bool) {
	c, ok := coordination.ParseChatID(id)
	if !ok || c.Channel != coordination.Slack || !c.Canonical() || c.Message != "" || c.Thread != "" && stamp(c.Thread) == 0 {
		return place{}, false
	}
	return place{chat: strings.ToUpper(c.Chat), thread: c.Thread}, true
}

// parseMessage reads the id of a message.
func parseMessage(id string) (p place, ts string, ok bool) {
	c, ok := coordination.ParseChatID(id)
	if !ok || c.Channel != coordination.Slack || !c.Canonical() || stamp(c.Message) == 0 {
		return place{}, "", false
	}
	return place{chat: strings.ToUpper(c.Chat)}, c.Message, true
}

// stamp is a timestamp in microseconds; 0 if it is none.
func stamp(ts string) int64 {
	whole, part, found := strings.Cut(ts, ".")
	seconds, err := strconv.ParseUint(whole, 10, 40)
	micros, wrong := strconv.ParseUint(part, 10, 32)
	if !found || len(part) != 6 || err != nil || wrong != nil {
		return 0
	}
	return int64(seconds)*1e6 + int64(micros)
}

// stampOf is the timestamp of a time in microseconds.
func stampOf(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// at is the time of a timestamp, in ms since 1970.
func at(ts string) int64 { return stamp(ts) / 1000 }
