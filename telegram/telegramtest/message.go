package telegramtest

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// Telegram's limits, in UTF-16 units after parsing entities.
const (
	maxText    = 4096
	maxCaption = 1024
)

type message struct {
	chat     *chat
	number   int           // per chat: its id in supergroups, and for people
	ids      map[int64]int // by bot: its id elsewhere
	from     *account
	date     int64
	edited   int64
	text     string // or caption
	entities []Entity
	photo    []PhotoSize
	document *Document
	replyTo  *message
	topic    *topic // nil: outside of topics, or in General
	thread   int    // in a supergroup outside of topics: the first message of a chain of replies
	keyboard *Keyboard
	album    string // "": it is in none

	joined                 []*account
	left                   *account
	migrateTo, migrateFrom int64
	topicCreated           *TopicCreated
	topicClosed, reopened  bool

	reactions map[int64]Emoji
}

func (m *message) isService() bool {
	return m.joined != nil || m.left != nil || m.migrateTo != 0 || m.migrateFrom != 0 || m.topicCreated != nil || m.topicClosed || m.reopened
}

// idFor is the message's id as a bot knows it; nil is a person.
func (m *message) idFor(bot *account) int {
	if bot == nil || m.chat.Type == typeSupergroup {
		return m.number
	}
	return m.ids[bot.ID]
}

// shapeFor is the message as a bot sees it; nil is a person.
func (m *message) shapeFor(bot *account) *Message { return m.shape(bot, true) }

func (m *message) shape(bot *account, withReply bool) *Message {
	told := &Message{MessageID: m.idFor(bot), From: &m.from.User, Chat: m.chat.shape(), Date: m.date, EditDate: m.edited, ReplyMarkup: m.keyboard,
		MediaGroup: m.album, Photo: m.photo, Document: m.document, MigrateTo: m.migrateTo, MigrateFrom: m.migrateFrom, TopicCreated: m.topicCreated,
		Reactions: m.reactions, own: m}
	if m.photo == nil && m.document == nil {
		told.Text, told.Entities = m.text, m.entities
	} else {
		told.Caption, told.CaptionEnts = m.text, m.entities
	}
	for _, a := range m.joined {
		told.NewMembers = append(told.NewMembers, a.User)
	}
	if m.left != nil {
		told.LeftMember = &m.left.User
	}
	if m.topicClosed {
		told.TopicClosed = &struct{}{}
	}
	if m.reopened {
		told.TopicReopened = &struct{}{}
	}
	told.ThreadID = m.thread
	if m.topic != nil {
		told.ThreadID, told.IsTopicMessage = m.topic.id, true
	}
	if !withReply {
		return told
	}
	switch {
	case m.replyTo != nil:
		told.ReplyTo = m.replyTo.shape(bot, false)
	case m.topic != nil && m.topic.first != m: // Telegram names the message that began the topic
		told.ReplyTo = m.topic.first.shape(bot, false)
	}
	return told
}

// find returns a message by its id for a bot; nil is a person.
func (ch *chat) find(bot *account, id int) *message {
	i := slices.IndexFunc(ch.messages, func(m *message) bool { return m.idFor(bot) == id })
	if i < 0 || id == 0 {
		return nil
	}
	return ch.messages[i]
}

// add gives a message its ids and appends it. The lock is held.
func (s *Server) add(m *message) *message {
	ch := m.chat
	ch.count++
	m.number, m.date = ch.count, s.now().Unix()
	if ch.Type != typeSupergroup {
		m.ids = map[int64]int{}
		for _, bot := range ch.bots() {
			bot.mailbox++
			m.ids[bot.ID] = bot.mailbox
		}
	}
	if m.replyTo != nil && m.topic == nil && ch.Type == typeSupergroup {
		if m.thread = m.replyTo.thread; m.thread == 0 {
			m.thread = m.replyTo.number
		}
	}
	ch.messages = append(ch.messages, m)
	if m.from.IsBot && !m.isService() {
		ch.lastBot = m.from
	}
	return m
}

// service adds a service message and tells it to the bots.
func (s *Server) service(ch *chat, by *account, how func(*message)) *message {
	m := &message{chat: ch, from: by}
	how(m)
	s.add(m)
	s.tell(m)
	return m
}

// tell queues a new message for the bots that see it.
func (s *Server) tell(m *message) {
	for _, bot := range m.chat.bots() {
		if m.visibleTo(bot) {
			s.queue(bot, "message", Update{Message: m.shapeFor(bot)})
		}
	}
}

// draft is a message to send.
type draft struct {
	text     string
	entities []Entity
	topic    *topic
	replyTo  *message
	keyboard *Keyboard
	album    string
}

// draftOf reads what the methods for sending have in common.
func (s *Server) draftOf(c *call, textName, entitiesName string, limit int) (ch *chat, d draft, refusal *Error) {
	ch, refusal = s.chatOf(c)
	if refusal != nil {
		return nil, d, refusal
	}
	if d.topic, refusal = ch.topicOf(c, c.by); refusal != nil {
		return nil, d, refusal
	}
	if d.text, d.entities, refusal = s.textOf(c, textName, entitiesName); refusal != nil {
		return nil, d, refusal
	}
	switch n := units(d.text); {
	case n > limit && limit == maxCaption:
		return nil, d, badRequest("message caption is too long")
	case n > limit:
		return nil, d, badRequest("message is too long")
	}
	if d.replyTo, refusal = ch.replyOf(c); refusal != nil {
		return nil, d, refusal
	}
	d.keyboard, refusal = keyboardOf(c)
	return ch, d, refusal
}

// textOf parses a text with its parse mode or entities.
func (s *Server) textOf(c *call, textName, entitiesName string) (string, []Entity, *Error) {
	text := c.text(textName)
	var entities []Entity
	switch mode := c.text("parse_mode"); {
	case mode == "":
		if refusal := c.object(entitiesName, &entities); refusal != nil {
			return "", nil, refusal
		}
	case strings.EqualFold(mode, "MarkdownV2"):
		parsed, found, err := parseMarkdown(text)
		if err != nil {
			return "", nil, badRequest("can't parse entities: %s", err)
		}
		text, entities = parsed, found
	default:
		return "", nil, badRequest("unsupported parse_mode")
	}
	text, entities = tidy(text, entities)
	return text, s.detect(text, entities), nil
}

// replyOf returns the message that a request replies to.
func (ch *chat) replyOf(c *call) (*message, *Error) {
	var p struct {
		MessageID int  `json:"message_id"`
		Optional  bool `json:"allow_sending_without_reply"`
	}
	if refusal := c.object("reply_parameters", &p); refusal != nil {
		return nil, refusal
	}
	if p.MessageID == 0 {
		p.MessageID, p.Optional = int(c.number("reply_to_message_id")), c.flag("allow_sending_without_reply")
	}
	if p.MessageID == 0 {
		return nil, nil
	}
	m := ch.find(c.by, p.MessageID)
	if m == nil && !p.Optional {
		return nil, badRequest("message to be replied not found")
	}
	return m, nil
}

func (s *Server) sendMessage(c *call) (any, *Error) {
	ch, d, refusal := s.draftOf(c, "text", "entities", maxText)
	if refusal != nil {
		return nil, refusal
	}
	if d.text == "" {
		return nil, badRequest("message text is empty")
	}
	return s.send(c.by, ch, d, nil, nil).shapeFor(c.by), nil
}

// send adds a message of a bot or a person.
func (s *Server) send(by *account, ch *chat, d draft, photo []PhotoSize, document *Document) *message {
	m := s.add(&message{chat: ch, from: by, text: d.text, entities: d.entities, replyTo: d.replyTo, topic: d.topic, keyboard: d.keyboard,
		photo: photo, document: document, album: d.album})
	s.tell(m)
	return m
}

// ownOf returns a message that the requesting bot has written.
func (s *Server) ownOf(c *call) (*message, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal != nil {
		return nil, refusal
	}
	m := ch.find(c.by, int(c.number("message_id")))
	switch {
	case m == nil:
		return nil, badRequest("message to edit not found")
	case m.from != c.by || m.isService():
		return nil, badRequest("message can't be edited")
	}
	return m, nil
}

func (s *Server) editMessageText(c *call) (any, *Error) {
	m, refusal := s.ownOf(c)
	if refusal != nil {
		return nil, refusal
	}
	text, entities, refusal := s.textOf(c, "text", "entities")
	if refusal != nil {
		return nil, refusal
	}
	keyboard, refusal := keyboardOf(c)
	switch {
	case refusal != nil:
		return nil, refusal
	case m.photo != nil || m.document != nil:
		return nil, badRequest("there is no text in the message to edit")
	case text == "":
		return nil, badRequest("message text is empty")
	case units(text) > maxText:
		return nil, badRequest("message is too long")
	case text == m.text && slices.EqualFunc(entities, m.entities, sameEntity) && sameKeyboard(keyboard, m.keyboard):
		return nil, notModified()
	}
	m.text, m.entities, m.keyboard, m.edited = text, entities, keyboard, s.now().Unix()
	return m.shapeFor(c.by), nil
}

func notModified() *Error {
	return badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content " +
		"and reply markup of the message")
}

func (s *Server) editMessageReplyMarkup(c *call) (any, *Error) {
	m, refusal := s.ownOf(c)
	if refusal != nil {
		return nil, refusal
	}
	keyboard, refusal := keyboardOf(c)
	switch {
	case refusal != nil:
		return nil, refusal
	case sameKeyboard(keyboard, m.keyboard):
		return nil, notModified()
	}
	m.keyboard, m.edited = keyboard, s.now().Unix()
	return m.shapeFor(c.by), nil
}

func (s *Server) deleteMessage(c *call) (any, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal != nil {
		return nil, refusal
	}
	m := ch.find(c.by, int(c.number("message_id")))
	switch {
	case m == nil:
		return nil, badRequest("message to delete not found")
	case m.from != c.by && !ch.may(c.by, func(r Rights) bool { return r.DeleteMessages }):
		return nil, badRequest("message can't be deleted")
	}
	ch.remove(m)
	return true, nil
}

// remove deletes a message. No bot is told.
func (ch *chat) remove(m *message) {
	ch.messages = slices.DeleteFunc(ch.messages, func(other *message) bool { return other == m })
}

func (s *Server) sendChatAction(c *call) (any, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal != nil {
		return nil, refusal
	}
	if _, refusal := ch.topicOf(c, nil); refusal != nil {
		return nil, refusal
	}
	known := []string{"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document", "choose_sticker",
		"find_location", "record_video_note", "upload_video_note"}
	if !slices.Contains(known, c.text("action")) {
		return nil, badRequest("wrong parameter action in request")
	}
	return true, nil
}

// units counts UTF-16 units.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
