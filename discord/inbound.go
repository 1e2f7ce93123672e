package discord

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
	Deleted Kind = "deleted" // of the message only ID, ChannelID, ParentID and GuildID are known
)

// Inbound is a fact about a message, as one bot is told of it.
type Inbound struct {
	Kind      Kind
	AccountID string
	BotID     string
	Missed    bool // it was read from the channel after the bot had been away
	Message   Message
}

// Message is one that a person, a bot or a webhook has written. What Discord writes by itself is not told.
type Message struct {
	ID         string
	ChannelID  string // where it stands: a channel, a thread, a conversation
	ParentID   string // of a thread: the channel that it hangs below
	ThreadName string
	GuildID    string // "" in conversations
	Author     Author
	Content    string // "" too where the bot may not read it: see Status.Missing

	Mentions        []User // as Discord says, the author of what it replies to among them
	MentionRoles    []string
	MentionEveryone bool

	Command     bool   // a slash command's answer
	ReplyTo     string // id of the message that it replies to
	ReplyAuthor string // user id
	Attachments []Attachment
	Nonce       string // as its author has called it; "" mostly

	At       int64 // when it was written, ms since 1970
	EditedAt int64 // 0: it was not edited
}

// User is a person or a bot.
type User struct {
	ID   string
	Name string
	Bot  bool
}

// Author is who has written a message.
type Author struct {
	User
	Webhook bool
	Roles   []string // in the guild, as far as they are known
	Account string   // of our bots; "" for everybody else
	Agent   string   // likewise; "" too if the bot speaks for none
}

// Attachment is a file of a message.
type Attachment struct {
	Name, Type, URL string
	Size            int64 // bytes
}

// Route is the message in the words in which it is decided who handles it.
func (in *Inbound) Route() route.Message {
	m := &in.Message
	r := route.Message{
		ID: m.ID, GuildID: m.GuildID, ChannelID: cmp.Or(m.ParentID, m.ChannelID), Text: m.Content, Attachments: len(m.Attachments), At: m.At,
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

// Route is the interaction in the words in which it is decided whether anybody is listened to where it stands.
func (i *Interaction) Route() route.Message {
	m := route.Message{ID: i.ID, GuildID: i.GuildID, ChannelID: cmp.Or(i.ParentID, i.ChannelID), At: i.At,
		Author: route.Author{ID: i.User.ID, Name: i.User.Name, Bot: i.User.Bot, Roles: i.Roles}}
	if i.ParentID != "" {
		m.ThreadID = i.ChannelID
	}
	if i.GuildID == "" {
		m.AccountID = i.AccountID
	}
	return m
}

// facts makes the message of what Discord tells. The place and our bots are filled in elsewhere.
func (m *messageShape) facts() Message {
	f := Message{
		ID: m.ID, ChannelID: m.ChannelID, GuildID: m.GuildID, Content: m.Content, MentionRoles: m.MentionRoles, MentionEveryone: m.MentionEveryone,
		Command: m.Type == typeSlash || m.Type == typeContext, Nonce: m.nonce(), At: madeAt(snowflake(m.ID)),
	}
	if m.Author != nil {
		f.Author = Author{User: User{ID: m.Author.ID, Name: m.Author.name(), Bot: m.Author.Bot}, Webhook: m.WebhookID != ""}
	}
	if m.Member != nil {
		f.Author.Roles = m.Member.Roles
	}
	for i := range m.Mentions {
		f.Mentions = append(f.Mentions, User{ID: m.Mentions[i].ID, Name: m.Mentions[i].name(), Bot: m.Mentions[i].Bot})
	}
	for _, a := range m.Attachments {
		f.Attachments = append(f.Attachments, Attachment{Name: a.Filename, Type: a.ContentType, URL: a.URL, Size: a.Size})
	}
	if m.Reference != nil && m.Reference.Type == 0 {
		f.ReplyTo = m.Reference.MessageID
	}
	if f.ReplyTo != "" && m.Referenced != nil && m.Referenced.Author != nil {
		f.ReplyAuthor = m.Referenced.Author.ID
	}
	if m.Edited != nil {
		f.EditedAt = m.Edited.UnixMilli()
	}
	return f
}
