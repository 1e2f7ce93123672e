package discordtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

type message struct {
	Message
	channel   *channel
	author    *account // nil for webhooks
	reactions []*reaction
}

// Limits of a message, and how long a nonce counts.
const (
	maxContent  = 2000
	maxNonce    = 25
	maxEmbeds   = 10
	nonceWindow = 5 * time.Minute
)

type nonceUse struct {
	message *message
	at      time.Time
}

type draft struct {
	Content         string            `json:"content"`
	TTS             bool              `json:"tts"`
	Nonce           json.RawMessage   `json:"nonce"`
	EnforceNonce    bool              `json:"enforce_nonce"`
	Embeds          []json.RawMessage `json:"embeds"`
	Components      []json.RawMessage `json:"components"`
	Flags           int               `json:"flags"`
	Reference       *Reference        `json:"message_reference"`
	AllowedMentions *AllowedMentions  `json:"allowed_mentions"`
	Username        string            `json:"username"`    // webhooks only
	AvatarURL       string            `json:"avatar_url"`  // webhooks only
	ThreadName      string            `json:"thread_name"` // webhooks in forums only
	files           []Attachment
}

// AllowedMentions limit whom a message may notify.
type AllowedMentions struct {
	Parse       []string `json:"parse"` // users, roles, everyone
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
}

// check validates the form alone.
func (d *draft) check() *Error {
	d.Content = strings.TrimSpace(d.Content)
	switch nonce := nonceText(d.Nonce); {
	case utf8.RuneCountInString(d.Content) > maxContent:
		return tooLong("content", maxContent)
	case len(d.Embeds) > maxEmbeds:
		return tooLong("embeds", maxEmbeds)
	case utf8.RuneCountInString(nonce) > maxNonce:
		return tooLong("nonce", maxNonce)
	case d.Content == "" && len(d.Embeds) == 0 && len(d.files) == 0 && len(d.Components) == 0:
		return badRequest(CodeEmptyMessage, "Cannot send an empty message")
	}
	return nil
}

func (s *Server) messageRoutes() []route {
	return []route{
		{name: "POST /channels/{channel}/messages", do: s.postMessage},
		{name: "GET /channels/{channel}/messages", do: s.listMessages},
		{name: "GET /channels/{channel}/messages/{message}", do: func(c *call) (any, *Error) {
			m, refusal := s.messageIn(c, ReadMessageHistory)
			if refusal != nil {
				return nil, refusal
			}
			return s.messagesFor(m, c.by), nil
		}},
		{name: "PATCH /channels/{channel}/messages/{message}", do: s.patchMessage},
		{name: "DELETE /channels/{channel}/messages/{message}", do: func(c *call) (any, *Error) {
			m, refusal := s.messageIn(c, 0)
			if refusal != nil {
				return nil, refusal
			}
			return nil, s.deleteMessage(c.by, m)
		}},
	}
}

func (s *Server) messageIn(c *call, p Permission) (*message, *Error) {
	ch, refusal := s.channelIn(c, p)
	if refusal != nil {
		return nil, refusal
	}
	m := ch.message(c.path("message"))
	if m == nil {
		return nil, notFound(CodeUnknownMessage, "Message")
	}
	return m, nil
}

func (s *Server) postMessage(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	d := draft{files: c.files}
	if refusal := c.decode(&d); refusal != nil {
		return nil, refusal
	}
	m, refusal := s.write(c.by, ch, d)
	if refusal != nil {
		return nil, refusal
	}
	return s.messageFor(m, c.by), nil
}

// writing is the permission needed to write in a channel.
func writing(ch *channel) Permission {
	if ch.IsThread() {
		return SendInThreads
	}
	return SendMessages
}

// write posts a bot's or person's message, if permitted.
func (s *Server) write(a *account, ch *channel, d draft) (*message, *Error) {
	if refusal := s.need(a, ch, writing(ch)); refusal != nil {
		return nil, refusal
	}
	if ch.Type == Category || ch.Type == Forum {
		return nil, badRequest(50008, "Cannot send messages in a non-text channel")
	}
	if refusal := d.check(); refusal != nil {
		return nil, refusal
	}
	for _, u := range ch.pair {
		if u != a && (u.refusesDMs || u.Bot && a.Bot) {
			return nil, forbidden(CodeCannotMessageUser, "Cannot send messages to this user")
		}
	}
	key := a.ID + " " + nonceText(d.Nonce)
	if used, is := s.nonces[key]; is && d.EnforceNonce && s.now().Sub(used.at) < nonceWindow && used.message.channel.message(used.message.ID) != nil {
		return used.message, nil
	}
	if ch.IsThread() {
		if refusal := s.wake(a, ch); refusal != nil {
			return nil, refusal
		}
	}
	m := s.compose(a, ch, d)
	if d.Reference != nil {
		if refusal := s.refer(m, d); refusal != nil {
			return nil, refusal
		}
	}
	if len(d.Nonce) > 0 && nonceText(d.Nonce) != "null" {
		m.Nonce = slices.Clone(d.Nonce)
		s.nonces[key] = nonceUse{m, s.now()}
	}
	s.post(m)
	return m, nil
}

// compose builds a message without posting it.
func (s *Server) compose(a *account, ch *channel, d draft) *message {
	m := &message{channel: ch, author: a, Message: Message{
		ID: s.next(), ChannelID: ch.ID, Content: d.Content, Timestamp: stamp(s.now()), TTS: d.TTS,
		Flags:    d.Flags &^ (FlagHasThread | FlagLoading | FlagEphemeral),
		Mentions: []User{}, MentionRoles: []string{}, Attachments: []Attachment{}, Embeds: orEmpty(d.Embeds), Components: orEmpty(d.Components),
	}}
	if a != nil {
		m.Author = a.User
	}
	for _, f := range d.files {
		f.ID = s.next()
		s.storeFile(ch, &f)
		m.Attachments = append(m.Attachments, f)
	}
	s.callFor(m, d.AllowedMentions)
	return m
}

// orEmpty copies a list, encoding nil as []: clients iterate over it unchecked.
func orEmpty[T any](of []T) []T { return append([]T{}, of...) }

func (s *Server) refer(m *message, d draft) *Error {
	r := *d.Reference
	if r.MessageID == "" {
		return nil
	}
	to := m.channel.message(r.MessageID)
	if to == nil {
		if r.FailIfNotExists != nil && !*r.FailIfNotExists {
			return nil
		}
		return invalidForm("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
	}
	if to.Type != PlainMessage && to.Type != ReplyMessage && to.Type != SlashCommandMessage {
		return invalidForm("message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")
	}
	m.Type, m.Reference = ReplyMessage, &Reference{MessageID: to.ID, ChannelID: m.ChannelID, GuildID: m.channel.GuildID}
	copied := s.messageFor(to, nil)
	copied.ReferencedMessage = nil
	m.ReferencedMessage = &copied
	if to.author != nil && (d.AllowedMentions == nil || d.AllowedMentions.RepliedUser) {
		m.mention(to.author.User)
	}
	return nil
}

func (m *message) mention(u User) {
	if !slices.ContainsFunc(m.Mentions, func(other User) bool { return other.ID == u.ID }) {
		m.Mentions = append(m.Mentions, u)
	}
}

func (s *Server) post(m *message) {
	ch := m.channel
	ch.messages = append(ch.messages, m)
	ch.LastMessageID = &m.ID
	if ch.IsThread() {
		ch.active = s.now().UnixMilli()
		if m.Type != ThreadStarterMessage {
			ch.MessageCount++
			ch.TotalMessages++
		}
		if m.author != nil && m.Type != ThreadStarterMessage {
			s.followAll(ch, append([]User{m.author.User}, m.Mentions...))
		}
	}
	s.sendMessage("MESSAGE_CREATE", m)
}

func (s *Server) sendMessage(kind string, m *message) {
	s.publish(event{kind, m.channel.intent(intentGuildMessages, intentDirectMessages), m.channel}, func(to *gatewaySession) any {
		told := s.messageFor(m, nil)
		told.GuildID = m.channel.GuildID
		if m.author != nil {
			told.Member = s.memberIn(m.channel, m.author)
		}
		if !readable(to.bot, m, to.intents&intentMessageContent != 0) {
			hide(&told)
		}
		return told
	})
	s.happened()
}

// messageFor is a message as REST returns it to a bot; nil may read all.
func (s *Server) messageFor(m *message, to *account) Message {
	told := m.Message
	if m.Flags&FlagHasThread != 0 {
		if t := s.channels[m.ID]; t != nil {
			thread := t.public()
			told.Thread = &thread
		}
	}
	for _, r := range m.reactions {
		told.Reactions = append(told.Reactions, Reaction{Count: len(r.by), Me: to != nil && slices.Contains(r.by, to), Emoji: r.emoji})
	}
	if to != nil && !readable(to, m, to.content) {
		hide(&told)
	}
	return told
}

func (s *Server) listMessages(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	limit, refusal := limitIn(c, 1, 100, 50)
	if refusal != nil {
		return nil, refusal
	}
	for _, name := range []string{"before", "after", "around"} {
		if v := c.query(name); v != "" && !isSnowflake(v) {
			return nil, invalidForm(name, "NUMBER_TYPE_COERCE", `Value "`+v+`" is not snowflake.`)
		}
	}
	if !s.may(c.by, ch).has(ReadMessageHistory) {
		return []Message{}, nil
	}
	told := []Message{}
	for _, m := range page(ch.messages, limit, c.query("before"), c.query("after"), c.query("around")) {
		told = append(told, s.messagesFor(m, c.by))
	}
	return told, nil
}

// messagesFor is a message as it is read later: without its nonce, which Discord returns only for a new one.
func (s *Server) messagesFor(m *message, to *account) Message {
	told := s.messageFor(m, to)
	told.Nonce = nil
	return told
}

// page returns up to limit of the messages, which are oldest first; the result is newest first, as Discord's always
// is.
func page(all []*message, limit int, before, after, around string) []*message {
	at := func(id string) int { // the first one not older
		i := slices.IndexFunc(all, func(m *message) bool { return !older(m.ID, id) })
		if i < 0 {
			return len(all)
		}
		return i
	}
	from, to := max(0, len(all)-limit), len(all)
	switch {
	case around != "":
		i := at(around)
		from = max(0, i-limit/2)
		to = min(len(all), from+limit)
	case before != "":
		to = at(before)
		from = max(0, to-limit)
	case after != "":
		from = at(after)
		if from < len(all) && all[from].ID == after {
			from++
		}
		to = min(len(all), from+limit)
	}
	some := slices.Clone(all[from:to])
	slices.Reverse(some)
	return some
}

type change struct {
	Content         *string            `json:"content"`
	Embeds          *[]json.RawMessage `json:"embeds"`
	Components      *[]json.RawMessage `json:"components"`
	AllowedMentions *AllowedMentions   `json:"allowed_mentions"`
	Attachments     *[]Attachment      `json:"attachments"`
}

func (s *Server) patchMessage(c *call) (any, *Error) {
	m, refusal := s.messageIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	var edit change
	if refusal := c.decode(&edit); refusal != nil {
		return nil, refusal
	}
	if refusal := s.edit(c.by, m, edit); refusal != nil {
		return nil, refusal
	}
	return s.messageFor(m, c.by), nil
}

// edit changes a message; by is nil if a token authorizes it.
func (s *Server) edit(by *account, m *message, edit change) *Error {
	switch {
	case by != nil && m.author != by:
		return forbidden(CodeNotYourMessage, "Cannot edit a message authored by another user")
	case m.channel.IsThread() && m.channel.Thread.Archived:
		return badRequest(CodeThreadArchived, "Thread is archived")
	}
	content, embeds, components, attachments := m.Content, m.Embeds, m.Components, m.Attachments
	if edit.Content != nil {
		content = strings.TrimSpace(*edit.Content)
	}
	set(&embeds, edit.Embeds)
	set(&components, edit.Components)
	set(&attachments, edit.Attachments)
	d := draft{Content: content, Embeds: embeds, Components: components, files: attachments}
	if refusal := d.check(); refusal != nil {
		return refusal
	}
	now := stamp(s.now())
	m.Content, m.Embeds, m.Components, m.Attachments, m.EditedTimestamp = content, orEmpty(embeds), orEmpty(components), orEmpty(attachments), &now
	m.Flags &^= FlagLoading
	m.Mentions, m.MentionRoles, m.MentionEveryone = []User{}, []string{}, false
	s.callFor(m, edit.AllowedMentions)
	s.sendMessage("MESSAGE_UPDATE", m)
	return nil
}

type deleted struct {
	ID        string `json:"id"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id,omitempty"`
}

// deleteMessage deletes a message; by is nil if a token authorizes it.
func (s *Server) deleteMessage(by *account, m *message) *Error {
	ch := m.channel
	switch {
	case m.Type == ThreadStarterMessage:
		return forbidden(CodeSystemMessage, "Cannot execute action on a system message")
	case by != nil && m.author != by:
		if ch.guild == nil {
			return forbidden(50003, "Cannot execute action on a DM channel")
		}
		if refusal := s.need(by, ch, ManageMessages); refusal != nil {
			return refusal
		}
	case ch.IsThread() && ch.Thread.Archived:
		return badRequest(CodeThreadArchived, "Thread is archived")
	}
	ch.messages = slices.DeleteFunc(ch.messages, func(other *message) bool { return other == m })
	if ch.IsThread() {
		ch.MessageCount = max(0, ch.MessageCount-1)
	}
	s.publish(event{"MESSAGE_DELETE", ch.intent(intentGuildMessages, intentDirectMessages), ch}, func(*gatewaySession) any {
		return deleted{m.ID, ch.ID, ch.GuildID}
	})
	s.happened()
	return nil
}
