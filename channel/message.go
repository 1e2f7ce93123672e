package channel

import (
	"cmp"

	"github.com/pronto-lab/openclawd/coordination/route"
)

// Kind is what happened to a message.
type Kind string

// Kinds of facts.
const (
	Created Kind = "created"
	Edited  Kind = "edited"
	Deleted Kind = "deleted" // only the message's ID, ChannelID, ParentID and GuildID are known
	Reacted Kind = "reacted" // likewise; Author is who reacted
)

// Inbound is a fact about a message, as received by one bot.
type Inbound struct {
	Kind      Kind
	AccountID string
	BotID     string
	Missed    bool // fetched from the channel after a gap
	Message   Message
	Reaction  Reaction // of Reacted
}

// Reaction is a reaction to a message of the bot that receives the fact.
type Reaction struct {
	Emoji   string // as the service names it
	Removed bool
}

// Message is a message of a person, bot or webhook. Messages of the service itself, e.g. about a join, are not delivered.
type Message struct {
	ID         string
	ChannelID  string // a channel, a group, a thread, a conversation
	ParentID   string // a thread's parent channel
	ThreadName string
	GuildID    string // the server, workspace or group; "" in conversations with one person
	Group      bool   // a conversation of several people, of a service whose places are channels
	Author     Author
	Content    string // also "" if the bot may not read it: see health.Bot.Missing

	Mentions        []User // as the service reports, in Discord including the author of a replied-to message
	MentionRoles    []string
	MentionEveryone bool

	Command     bool   // the answer to a slash command
	Interaction bool   // it is delivered as an interaction, too: a command, or the answer to a form
	ReplyTo     string // id of the message it replies to
	ReplyAuthor string // user id
	Attachments []Attachment
	Nonce       string // set by its author; usually ""

	At       int64 // creation time, ms since 1970
	EditedAt int64 // 0: not edited
}

// User is a person or a bot.
type User struct {
	ID   string
	Name string
	Bot  bool
}

// Author is the author of a message.
type Author struct {
	User
	Webhook bool
	Roles   []string // in the guild, as far as known
	Account string   // account of our bot; "" for others
	Agent   string   // agent of our bot; also "" if it belongs to none
}

// Attachment is a file of a message.
type Attachment struct {
	Name, Type, URL string
	Size            int64  // bytes; 0 if the service does not say it
	Ref             string // what Fetcher.Fetch gets it by; "" if it does not lie with the service
}

// Route converts the message for routing decisions.
func (in *Inbound) Route() route.Message {
	m := &in.Message
	r := route.Message{
		ID: m.ID, GuildID: m.GuildID, Group: m.Group, ChannelID: cmp.Or(m.ParentID, m.ChannelID), Text: m.Content, Attachments: len(m.Attachments), At: m.At,
		Author: route.Author{ID: m.Author.ID, Name: m.Author.Name, Bot: m.Author.Bot, Webhook: m.Author.Webhook, Roles: m.Author.Roles},
	}
	if m.ParentID != "" {
		r.ThreadID, r.ThreadName = m.ChannelID, m.ThreadName
	}
	if m.GuildID == "" {
		r.AccountID = in.AccountID
	}
	for _, u := range m.Mentions {
		if r.Names == nil {
			r.Names = map[string]string{}
		}
		r.Names[u.ID] = u.Name
	}
	return r
}
