package telegram

import (
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// update handles one update; false if it was not, because the bot ends.
func (b *bot) update(u *updateShape) bool {
	switch {
	case u.Message != nil:
		return b.message(channel.Created, u.Message, u.ID)
	case u.Edited != nil:
		return b.message(channel.Edited, u.Edited, u.ID)
	case u.Pressed != nil:
		b.pressed(u.Pressed)
	case u.Member != nil:
		b.joined(u.Member)
	case u.Reacted != nil:
		return b.reacted(u.Reacted)
	}
	return true
}

// joined records the bot's membership in a chat.
func (b *bot) joined(m *memberChangeShape) {
	d := b.bots.directory
	d.mu.Lock()
	d.addChat(&m.Chat, b.user.Load())
	d.mu.Unlock()
	d.sit(m.Chat.ID, b.user.Load(), m.New)
	b.log.Info("the bot's membership in a chat has changed", "chat", placeID(numbered(&m.Chat, b.user.Load())), "name", m.Chat.name(), "status", m.New.Status)
}

// message handles a new or edited message.
func (b *bot) message(kind channel.Kind, m *messageShape, update int64) bool {
	user := b.user.Load()
	b.bots.directory.addMessage(m, user)
	if m.isService() || m.From != nil && m.From.ID == user {
		return true
	}
	if kind == channel.Created && m.Chat.Type != typePrivate {
		b.bots.takeSeats(b.ctx, m.Chat.ID)
		if _, known := b.bots.directory.seat(m.Chat.ID, user); !known {
			b.bots.directory.sit(m.Chat.ID, user, memberShape{Status: "member"})
		}
	}
	fact, known := b.fact(kind, m)
	if !known {
		return true
	}
	if kind != channel.Created {
		return b.bots.deliver(b.ctx, fact)
	}
	i, by := b.interaction(m, &fact, update)
	fact.Message.Interaction = i.Kind != ""
	if !b.bots.deliver(b.ctx, fact) {
		if by != nil && i.Kind == channel.KindForm {
			b.bots.forms.reopen(fact.Message.ReplyTo)
		}
		return false
	}
	if by != nil {
		by.offer(i)
	}
	return true
}

// isService reports whether the message is Telegram's own.
func (m *messageShape) isService() bool {
	text, _ := m.said()
	return m.service && text == "" && len(m.files()) == 0 && m.shown() == ""
}

// file is a file of a message.
type file struct {
	fileShape
	kind string // used if Telegram names no type
}

// files are the files of a message; of a picture the largest size.
func (m *messageShape) files() (all []file) {
	if m.album != nil {
		return m.album
	}
	if n := len(m.Photo); n > 0 {
		all = append(all, file{m.Photo[n-1], "image/jpeg"})
	}
	for _, f := range []struct {
		of   *fileShape
		kind string
	}{{m.Document, "application/octet-stream"}, {m.Voice, "audio/ogg"}, {m.Audio, "audio/mpeg"}, {m.Video, "video/mp4"}, {m.VideoNote, "video/mp4"},
		{m.Sticker, "image/webp"}} {
		if f.of != nil {
			all = append(all, file{*f.of, f.kind})
		}
	}
	return all
}

// fact converts a message. It is not known for an edit in a basic group of a message from before the start.
func (b *bot) fact(kind channel.Kind, m *messageShape) (channel.Inbound, bool) {
	user := b.user.Load()
	id, known := b.idOf(kind, m)
	if !known {
		return channel.Inbound{}, false
	}
	text, entities := m.said()
	said, mentions := content(text, entities, b.bots.directory.named)
	if shown := m.shown(); shown != "" {
		said = strings.TrimSpace(said + "\n" + shown)
	}
	at := numbered(&m.Chat, user)
	f := channel.Message{ID: id, ChannelID: placeID(at), Content: said, Mentions: mentions, At: m.Date * 1000, EditedAt: m.Edited * 1000}
	if m.Chat.Type != typePrivate {
		f.GuildID = f.ChannelID
	}
	if at.topic = b.bots.directory.topicOf(m); at.topic != 0 {
		f.ParentID = f.ChannelID
		f.ChannelID = placeID(at)
		p, _ := b.bots.directory.place(f.ChannelID)
		f.ThreadName = p.Name
	}
	switch {
	case m.SenderChat != nil: // a channel, or an anonymous administrator
		f.Author = channel.Author{User: channel.User{ID: idText(m.SenderChat.ID), Name: m.SenderChat.name()}, Webhook: true}
	case m.From != nil:
		f.Author = channel.Author{User: m.From.user()}
		if ours, is := b.bots.Registry().User(f.Author.ID); is {
			f.Author.Account, f.Author.Agent = ours.AccountID, ours.AgentID
		}
	}
	if r := m.ReplyTo; r != nil && r.TopicCreated == nil { // Telegram names the beginning of the topic where there is no reply
		r.Chat = m.Chat
		f.ReplyTo, _ = b.idOf(channel.Created, r)
		if r.From != nil {
			f.ReplyAuthor = idText(r.From.ID)
		}
	}
	for _, own := range m.files() {
		a := channel.Attachment{Name: own.Name, Type: own.Type, Size: own.Size, Ref: own.ID}
		if a.Type == "" {
			a.Type = own.kind
		}
		f.Attachments = append(f.Attachments, a)
	}
	return channel.Inbound{Kind: kind, AccountID: b.account, BotID: idText(user), Message: f}, true
}

// idOf is the id of a message in the log.
func (b *bot) idOf(kind channel.Kind, m *messageShape) (string, bool) {
	user := b.user.Load()
	if m.Chat.Type != typeGroup {
		return messageID(m, user), true
	}
	if id, is := b.bots.directory.idOf(m.Chat.ID, user, m.ID); is {
		return id, true
	}
	if kind == channel.Edited {
		return "", false
	}
	id := messageID(m, user)
	b.bots.directory.number(m.Chat.ID, user, m.ID, id)
	return id, true
}

// numberOf is the number of a message by which Telegram knows it from this bot; 0 if that is not known.
func (b *bot) numberOf(chat int64, id string) int {
	p, message, ok := parseMessage(id)
	if !ok || b.bots.directory.current(p.chat) != chat && p.chat != chat {
		return 0
	}
	if strings.HasPrefix(message, "h") {
		return b.bots.directory.numberOf(b.user.Load(), id)
	}
	n, _ := strconv.Atoi(message)
	return n
}
