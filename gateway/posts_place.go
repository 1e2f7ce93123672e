package gateway

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// target is where something is posted.
type target struct {
	to     string // channel:<id>, the form used by runs; "" of a person
	thread string // in it; "" is none
	user   string // a person, who is written to in a conversation
}

// Places as clients write them, without the prefixes of placePrefixes.
var (
	discordPlace  = regexp.MustCompile(`^(?:<#([0-9]{1,20})>|([0-9]{1,20}))$`)
	telegramPlace = regexp.MustCompile(`^(-[0-9]{1,19}|[0-9]{1,19}\.[0-9]{1,19})(?::topic:([0-9]{1,10}))?$`)
	slackPlace    = regexp.MustCompile(`^(?:<#([cgd][0-9a-z]{2,20})(?:\|[^<>]*)?>|([cgd][0-9a-z]{2,20})(?::thread:([0-9]{1,12}\.[0-9]{6}))?)$`)
)

// placePrefixes may stand before a place, besides the channel's name.
var placePrefixes = []string{"channel:", "group:"}

// personMark stands before and around people as clients write them, besides the channel's name.
var personMark = regexp.MustCompile(`^(?:(?:user|dm):)?(?:<@!?([0-9a-z]{1,20})>|@?([0-9a-z]{1,20}))$`)

// personNamed returns the id of the person that a text in lower case names. In Discord people and places have the same ids, so that one
// without a mark is a place.
func personNamed(channel *coordination.Channel, text string) (user string, ok bool) {
	rest := strings.TrimPrefix(text, channel.Name+":")
	m := personMark.FindStringSubmatch(rest)
	if m == nil || channel.Name == coordination.Discord && m[2] == text {
		return "", false
	}
	user = strings.ToUpper(m[1] + m[2])
	if channel.Name == coordination.Slack {
		return user, user[0] == 'U' || user[0] == 'W'
	}
	return user, user[0] != '0' && channel.IsUserID(user)
}

// meets is the place of a person's conversation with the bot that would post, which is opened if there is none. Any other target stays.
func (s *Server) meets(ctx context.Context, channel *coordination.Channel, method, field string, p *delivery.Post, at target, thread string) (target, error) {
	if at.user == "" {
		return at, nil
	}
	to, err := s.opts.Posts.Converse(ctx, *p, at.user)
	failed, is := errors.AsType[*tool.Error](err)
	switch {
	case is:
		return at, &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: " + field + ": " + failed.Text,
			Details: fault{Code: failed.Code, Field: field, Value: at.user, Hint: failed.Hint}}
	case err != nil:
		return at, postRefusalOf(method, err)
	}
	return placeMeant(channel, method, field, to, thread)
}

// placeMeant returns the place that a client names in a channel, and a thread of it, or a person.
func placeMeant(channel *coordination.Channel, method, field, value, thread string) (target, error) {
	value = coordination.TrimJS(value)
	id, ok := placeNamed(channel, strings.ToLower(value))
	if !ok {
		if user, is := personNamed(channel, strings.ToLower(value)); is {
			return target{user: user}, nil
		}
		return target{}, noPlace(channel, method, field, value)
	}
	t := target{to: "channel:" + id.String(), thread: threadNamed(channel, id, coordination.TrimJS(thread))}
	if id.Thread != "" {
		if t.thread == "" {
			t.thread = id.String()
		}
		id.Thread = ""
		t.to = "channel:" + id.String()
	}
	return t, nil
}

func placeNamed(channel *coordination.Channel, text string) (id coordination.ChatID, ok bool) {
	prefixes := placePrefixes
	if channel.Name != coordination.Discord { // discord:7 is a person in OpenClaw
		prefixes = append([]string{channel.Name + ":"}, placePrefixes...)
	} else if rest, is := strings.CutPrefix(text, "discord:channel:"); is {
		text = rest
	}
	for again := true; again; {
		again = false
		for _, p := range prefixes {
			if rest, is := strings.CutPrefix(text, p); is {
				text, again = rest, true
			}
		}
	}
	id.Channel = channel.Name
	switch channel.Name {
	case coordination.Telegram:
		if m := telegramPlace.FindStringSubmatch(text); m != nil {
			id.Chat, id.Thread = m[1], m[2]
		}
	case coordination.Slack:
		if m := slackPlace.FindStringSubmatch(text); m != nil {
			id.Chat, id.Thread = m[1]+m[2], m[3]
		}
	default:
		if m := discordPlace.FindStringSubmatch(text); m != nil {
			id.Chat = m[1] + m[2]
		}
	}
	return id, id.Chat != ""
}

// threadNamed is the id of a thread: clients may give Telegram's and Slack's own, which are unique in their chat only.
func threadNamed(channel *coordination.Channel, in coordination.ChatID, thread string) string {
	if thread == "" || channel.Name == coordination.Discord || channel.IsPlaceID(thread) {
		return thread
	}
	return coordination.ChatID{Channel: channel.Name, Chat: in.Chat, Thread: thread}.String()
}

// messageNamed is the id of a message, likewise.
func messageNamed(channel *coordination.Channel, to, message string) string {
	if message == "" || channel.Name == coordination.Discord || channel.IsMessageID(message) {
		return message
	}
	in, _ := coordination.ParseChatID(strings.TrimPrefix(to, "channel:"))
	return coordination.ChatID{Channel: channel.Name, Chat: in.Chat, Message: message}.String()
}

// placeHints say how a place is named.
var placeHints = map[string]string{
	coordination.Discord:  "give channel:<id>, the Discord id of a channel or thread, or user:<id>, that of a person",
	coordination.Telegram: "give the number of a group, such as -1001234567890, with :topic:<number> for a topic, or that of a person",
	coordination.Slack:    "give the id of a channel, such as C0123456789, or of a person, such as U0123456789",
}

func noPlace(channel *coordination.Channel, method, field, value string) error {
	why := fault{Field: field, Value: echo(value), Hint: placeHints[channel.Name]}
	return invalidRequest("invalid "+method+" params: "+field+": no "+channel.Title+" channel: "+why.Value, why)
}

// channelOfPlace is the channel whose name begins a place; "" for a place without one.
func channelOfPlace(value string) string {
	name, _, found := strings.Cut(strings.TrimPrefix(channelNamed(value), "channel:"), ":")
	if c, known := coordination.ChannelNamed(name); found && name != "" && known {
		return c.Name
	}
	return ""
}
