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
	Deleted Kind = "deleted" // only the message's ID, ChannelID, ParentID and GuildID are known
)

// Inbound is a fact about a message, as received by one bot.
type Inbound struct {
	Kind      Kind
	AccountID string
	BotID     string
	Missed    bool // fetched from the channel after a gap
	Message   Message
}

// Message is a message of a person, bot or webhook. System messages are not delivered.
type Message struct {
	ID         string
	ChannelID  string // a channel, a thread, a conversation
	ParentID   string // a thread's parent channel
	ThreadName string
	GuildID    string // "" in conversations
	Author     Author
	Content    string // also "" if the bot may not read it: see health.Bot.Missing

	Mentions        []User // as Discord reports, including the author of a replied-to message
	MentionRoles    []string
	MentionEveryone bool

	Command     bool   // the answer to a slash command
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
	Size            int64 // bytes
}

// Route converts the message for routing decisions.
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

// Route converts the interaction for checking whether its place is allowed.
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

// facts converts Discord's message. The place and our bots are added elsewhere.
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
