// Package channel is what the channels have in common: the services in which agents and people talk, such as Discord,
// Telegram and Slack. A channel is a package that implements Channel; New of such a package takes Options. What happens
// in the service comes as facts, through the functions in Options; what is to be done there are methods, each one
// request. A channel decides nothing: coordination/route decides who handles a message, coordination/delivery what is
// posted and what follows from a failure. channel/inbound, channel/outbound and channel/command are the same for all.
//
// # Ids
//
// Ids of places, threads and messages are unique across channels and stand in the log. Those of Discord are its own
// numbers. Those of any other channel begin with its name, and are in lower case:
//
//	telegram:-100123            a place: a channel, a group or a conversation; also a GuildID
//	telegram:-100123:topic:7    a thread in it
//	telegram:-100123:55         a message in it, or in a thread of it
//	slack:c0123:thread:1700000000.000100
//
// See coordination.ChatID. The channel translates them in both directions; other code
// does not look into them. Ids of users, accounts and roles are the service's own, without a prefix: they are only used
// together with a channel. In a text, a mention of a user is <@id> in every channel: the channel translates its own
// form into it, and makes a <@ in a text that is no mention unable to look like one.
package channel

import (
	"context"
	"encoding/json"
	"io"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Channel is the bots of all accounts in one service. Its methods are safe for concurrent use.
//
// It guarantees:
//   - a token is sent only to the service: no error, status or log line contains it;
//   - facts are delivered one at a time: each once per bot that receives it, in the order of its place. A message that
//     the service delivers again, also after a lost connection, has the same id. The service is told that a message was
//     received only as Options.OnMessage says;
//   - a request is made once. A failure is an *Error whose class says whether the request may have been executed;
//   - only the users named by a Post are notified, whatever its text contains;
//   - posts in one place are sent in order, no faster than the service allows;
//   - a lost connection is restored, and what was missed is delivered, within the service's bounds, before newer messages
//     of the same place. What is known to be missing is counted in health.Bot.Unread;
//   - an interaction is delivered once while the program runs, even if the service repeats it.
type Channel interface {
	Connection
	People
	Poster
	Finder
	Answerer
	Fetcher
	Converser
}

// Connection connects the accounts.
type Connection interface {
	// Name is the channel's name in the configuration, in ids and in session keys: one of coordination.Channels.
	Name() string
	// Configure applies a configuration: the accounts of c.Channel(Name()). Accounts that were removed, disabled or have
	// another token are disconnected; new and failed ones start connecting; others are not touched. It returns when
	// removed ones have ended. It may be called before Run.
	Configure(c *config.Config)
	// Run connects the accounts and delivers facts until ctx ends; then it disconnects and returns nil.
	Run(ctx context.Context) error
	// Status is the state of all configured accounts, by account id.
	Status() []health.Bot
	// Registry maps the accounts to agents. It is immutable and cheap: see RegistryOf.
	Registry() *Registry
}

// People is what the bots know about people and places. It makes no requests.
type People interface {
	// Sight returns the agents' bots. Blind are those known not to see a place; unknown is not blind.
	Sight(guildID, channelID, threadID string) []route.Bot
	// Known returns a place or thread as received by the bots.
	Known(id string) (collaborate.Place, bool)
	// ChannelName is the name of a place or thread, "" if unknown.
	ChannelName(id string) string
	// UserName is a user's name, "" if unknown.
	UserName(id string) string
	// Resolve replaces mentions in a text by @name; unknown ones stay.
	Resolve(text string) string
}

// Poster changes something in the service. Errors are *Error.
type Poster interface {
	// Send posts a message after earlier ones for the same place. Where coordination.Channel.Nonces is true, the same
	// nonce within some minutes returns the same message.
	Send(ctx context.Context, p Post) (Posted, error)
	// Edit changes the text of the bot's own message. It notifies no one.
	Edit(ctx context.Context, account, place, message, content string) error
	// Typing shows for some seconds that the bot is typing.
	Typing(ctx context.Context, account, place string) error
	// React puts a bot's reaction on a message, or removes it: an emoji, in Slack its name there. That it is so already is
	// no failure.
	React(ctx context.Context, account, place, message, emoji string, on bool) error
	// StartThread opens a thread. Repeating it may open a second one: see FindThread.
	StartThread(ctx context.Context, o Opening) (Thread, error)
	// Components are buttons in the service's own form, a JSON array, for Post.Components; nil if one of them is too long
	// for the service.
	Components(buttons []Button) json.RawMessage
}

// Finder asks the service what is there. Not found means that it does not exist. What cannot be determined is an error,
// an *Error or that of Lookup.Other, and never "not found": the caller then says that the outcome is unknown. A service
// that a bot cannot ask, such as Telegram, always returns an error (Blind).
type Finder interface {
	FindMessage(ctx context.Context, l Lookup) (p Posted, found bool, err error)
	FindThread(ctx context.Context, l Lookup) (t Thread, found bool, err error)
	// Place requests a place or thread; ok is false if there is none that the bot may see.
	Place(ctx context.Context, account, id string) (p collaborate.Place, ok bool, err error)
}

// Fetcher gets the files of messages.
type Fetcher interface {
	// Fetch writes a file to w: one whose Attachment had this Ref, received by this account. It is requested from the service's own host
	// only, and no redirect is followed to another one. The error is an *Error, or that of w.
	Fetch(ctx context.Context, account, ref string, w io.Writer) error
}

// Converser writes to people first.
type Converser interface {
	// Converse returns the place of a bot's conversation with a person, which is opened if there is none. It may be repeated. The error is
	// an *Error.
	Converse(ctx context.Context, account, user string) (place string, err error)
}

// Answerer answers interactions. Errors are *Error.
type Answerer interface {
	// Answer sends the first answer, once, within the time that the service allows.
	Answer(ctx context.Context, i Interaction, a InteractionAnswer) error
	// Amend replaces the first answer, or the message of InteractionAnswer.Update.
	Amend(ctx context.Context, i Interaction, a InteractionAnswer) error
	// Add adds a message after the first answer.
	Add(ctx context.Context, i Interaction, a InteractionAnswer) error
}

// Traits are the limits and abilities of a channel that decisions depend on.
func Traits(c Connection) coordination.Channel {
	t, _ := coordination.ChannelNamed(c.Name())
	return t
}
