package coordination

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Names of channels: the services in which agents and people talk.
const (
	Discord  = "discord"
	Telegram = "telegram"
	Slack    = "slack"
)

// Channel is what decisions depend on in a service.
type Channel struct {
	Name   string
	Title  string // its own spelling
	Status string // where the service says whether it works

	MaxMessage    int  // characters of a message
	MaxThreadName int  // characters of a thread's name
	MaxFile       int  // bytes of a file that bots post
	UTF16         bool // characters are UTF-16 code units, not code points

	// Typing is for how long the service shows that a bot is typing; 0: it cannot.
	Typing time.Duration

	// Nonces: the same nonce within some minutes is one message. Without, a message that may have been posted is never
	// repeated before it was searched for.
	Nonces bool
	// Siblings: a bot receives what the other bots of the team write. Without, the log has to tell it.
	Siblings bool

	letters bool    // ids of users hold upper-case letters, too
	place   KeyKind // kind of the session of a place that is not a conversation
	thread  string  // how a session key and an id name a thread: thread or topic; "" if its id stands alone
}

// channels is fixed: an id that begins with any other name is none, so that no id leads to a stream of another family.
var channels = []Channel{
	{Name: Discord, Title: "Discord", Status: "https://discordstatus.com", MaxMessage: 2000, MaxThreadName: 100, MaxFile: 10 << 20, Typing: 10 * time.Second, Nonces: true, Siblings: true, place: KeyChannel},
	{Name: Telegram, Title: "Telegram", Status: "https://telegram.org/apps", MaxMessage: 4096, MaxThreadName: 128, MaxFile: 50 << 20, UTF16: true, Typing: 5 * time.Second, place: KeyGroup, thread: "topic"},
	{Name: Slack, Title: "Slack", Status: "https://slack-status.com", MaxMessage: 4000, MaxThreadName: 80, MaxFile: 50 << 20, Siblings: true, letters: true, place: KeyChannel, thread: "thread"},
}

// Channels returns all channels, Discord first.
func Channels() []Channel { return slices.Clone(channels) }

// ChannelNamed returns a channel; case is ignored. "" is Discord, which events and deliveries do not name.
func ChannelNamed(name string) (Channel, bool) {
	for i := range channels {
		if c := &channels[i]; strings.EqualFold(c.Name, name) || name == "" && c.Name == Discord {
			return *c, true
		}
	}
	return Channel{}, false
}

// Length counts the characters of a text as the channel does.
func (c *Channel) Length(text string) int {
	if !c.UTF16 {
		return utf8.RuneCountInString(text)
	}
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// Head is the longest beginning of a text with at most limit characters, as the channel counts them, that ends between
// characters as people see them.
func (c *Channel) Head(text string, limit int) string {
	if c.Length(text) <= limit {
		return text
	}
	runes := min(utf8.RuneCountInString(text), max(limit, 0))
	head := Head(text, runes)
	for over := c.Length(head) - limit; over > 0 && head != ""; over = c.Length(head) - limit {
		runes = utf8.RuneCountInString(head) - (over+1)/2
		head = Head(head, runes)
	}
	return head
}

// maxUserID limits the id of a user, in bytes.
const maxUserID = 20

// IsUserID reports whether a text has the form of a user's id: a number, in Slack with upper-case letters.
func (c *Channel) IsUserID(text string) bool {
	for i := range len(text) {
		if b := text[i]; (b < '0' || b > '9') && !(c.letters && b >= 'A' && b <= 'Z') {
			return false
		}
	}
	return text != "" && len(text) <= maxUserID
}

// IsPlaceID reports whether a text has the form of an id of one of the channel's places or threads.
func (c *Channel) IsPlaceID(text string) bool {
	id, ok := c.parse(text)
	return ok && id.Message == ""
}

// IsThreadOf reports whether a text has the form of an id of a thread in a place. A Discord id does not tell its place.
func (c *Channel) IsThreadOf(text, place string) bool {
	id, ok := c.parse(text)
	in, _ := ParseChatID(place)
	return ok && (c.Name == Discord || id.Thread != "" && id.Chat == in.Chat)
}

// IsMessageIn reports whether a text has the form of an id of a message in a place or thread. A Discord id does not tell its place.
func (c *Channel) IsMessageIn(text, place string) bool {
	id, ok := c.parse(text)
	in, _ := ParseChatID(place)
	return ok && (c.Name == Discord || id.Message != "" && id.Chat == in.Chat)
}

// IsMessageID reports whether a text has the form of an id of one of the channel's messages.
func (c *Channel) IsMessageID(text string) bool {
	id, ok := c.parse(text)
	return ok && (c.Name == Discord || id.Message != "")
}

// parse takes an id of the channel apart. It is not ok for one of another form or channel.
func (c *Channel) parse(text string) (id ChatID, ok bool) {
	if id, ok = ParseChatID(text); c.Name != Discord || id.Channel != Discord {
		return id, ok && id.Channel == c.Name && id.Canonical()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return id, err == nil && n > 0 && text[0] != '+'
}

// ChatID names a place, a thread or a message of a channel. Its text is unique across channels. Discord's are its own
// ids, which are unique in themselves; the others begin with the channel's name:
//
//	telegram:-100123            a place
//	telegram:-100123:topic:7    a thread in it
//	telegram:-100123:55         a message in it
//
// All parts are in lower case, so that a session key, which has no other, names the same place.
type ChatID struct {
	Channel string
	Chat    string // of Discord: the id itself
	Thread  string
	Message string
}

// String formats the id. ParseChatID reads a valid one back.
func (id ChatID) String() string {
	c, known := ChannelNamed(id.Channel)
	switch {
	case !known:
		return ""
	case c.Name == Discord:
		return id.Chat
	case id.Thread != "":
		return strings.Join([]string{c.Name, id.Chat, c.thread, id.Thread}, ":")
	case id.Message != "":
		return strings.Join([]string{c.Name, id.Chat, id.Message}, ":")
	}
	return c.Name + ":" + id.Chat
}

// ParseChatID takes an id apart. It is not ok for an empty id, and for one that begins with the name of a channel and
// is not formed as above. Any other id is Discord's.
func ParseChatID(text string) (id ChatID, ok bool) {
	name, rest, _ := strings.Cut(text, ":")
	c, known := ChannelNamed(name)
	if name == "" || !known || c.Name == Discord || c.Name != name {
		return ChatID{Channel: Discord, Chat: text}, text != ""
	}
	parts := strings.Split(rest, ":")
	if len(text) > maxStreamID || slices.ContainsFunc(parts, func(p string) bool { return !isStreamID(p) || p != strings.ToLower(p) }) {
		return ChatID{Channel: c.Name}, false
	}
	id = ChatID{Channel: c.Name, Chat: parts[0]}
	switch {
	case len(parts) == 1:
	case len(parts) == 2 && parts[1] != c.thread:
		id.Message = parts[1]
	case len(parts) == 3 && parts[1] == c.thread:
		id.Thread = parts[2]
	default:
		return ChatID{Channel: c.Name}, false
	}
	return id, true
}

// forms are the parts of ids as their services write them: chats, threads and messages.
var forms = map[string][3]*regexp.Regexp{
	Telegram: {regexp.MustCompile(`^-?[1-9][0-9]{0,18}(\.[1-9][0-9]{0,18})?$`), regexp.MustCompile(`^[1-9][0-9]{0,9}$`),
		regexp.MustCompile(`^([1-9][0-9]{0,9}|h[0-9a-f]{24})$`)},
	Slack: {regexp.MustCompile(`^[a-z][a-z0-9]{0,20}$`), stampForm, stampForm},
}

var stampForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})\.[0-9]{6}$`)

// Canonical reports whether the id has the one form in which the channel writes it. Another form that the service would
// take for the same place, such as a number with a leading zero, is a second name for it, under which neither guards nor
// sessions know the place. It is true for Discord.
func (id ChatID) Canonical() bool {
	form, known := forms[id.Channel]
	return !known || form[0].MatchString(id.Chat) && (id.Thread == "" || form[1].MatchString(id.Thread)) && (id.Message == "" || form[2].MatchString(id.Message))
}

// ChannelOf returns the channel that an id of a place, thread or message belongs to.
func ChannelOf(id string) string {
	parsed, _ := ParseChatID(id)
	return parsed.Channel
}

// IsPlaceID reports whether a text has the form of an id of a place or thread of any channel.
func IsPlaceID(text string) bool {
	c, known := ChannelNamed(ChannelOf(text))
	return known && c.IsPlaceID(text)
}

// IsMessageID reports whether a text has the form of an id of a message of any channel.
func IsMessageID(text string) bool {
	c, known := ChannelNamed(ChannelOf(text))
	return known && c.IsMessageID(text)
}

// OtherChannel is the channel of an id as events name it: "" for Discord.
func OtherChannel(id string) string {
	if name := ChannelOf(id); name != Discord {
		return name
	}
	return ""
}

// PlaceKey is the key of an agent's session in a place or thread. group says that a place of a channel whose places are
// channels is a conversation of several people.
func PlaceKey(agent, place string, group bool) SessionKey {
	id, _ := ParseChatID(place)
	c, _ := ChannelNamed(id.Channel)
	k := SessionKey{Kind: c.place, Agent: agent, Channel: c.Name, ID: id.Chat}
	if group {
		k.Kind = KeyGroup
	}
	if c.thread == "topic" {
		k.Topic = id.Thread
	} else {
		k.Thread = id.Thread
	}
	return k
}

// Place is the place or thread of a session in a channel, as ids name it; "" for any other session. In Discord a thread
// is a place of its own: the key has it as its id.
func (k SessionKey) Place() string {
	c, known := ChannelNamed(k.Channel)
	switch {
	case k.Channel == "" || !known || k.Kind != KeyChannel && k.Kind != KeyGroup:
		return ""
	case c.Name == Discord:
		return k.ID
	}
	place := ChatID{Channel: c.Name, Chat: k.ID, Thread: firstText(k.Thread, k.Topic)}.String()
	if _, valid := ParseChatID(place); !valid {
		return ""
	}
	return place
}
