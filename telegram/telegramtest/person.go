package telegramtest

import (
	"strconv"
	"strings"
)

// Draft is a message of a person.
type Draft struct {
	Text    string
	ReplyTo *Message
	Topic   int    // 0: none, or General
	Mention []User // people and bots that the text names by their first name: text mentions

	Photo    []byte
	Document []byte
	FileName string
	FileType string

	album string
}

// Private returns the person's private chat with a bot, which the person starts with /start.
func (p *Person) Private(b *Bot) *Chat {
	p.s.mu.Lock()
	ch := b.own.private[p.ID]
	fresh := ch == nil
	if fresh {
		ch = &chat{ChatShape: ChatShape{ID: p.ID, Type: typePrivate, FirstName: p.FirstName, Username: p.Username}, person: p.own, bot: b.own}
		b.own.private[p.ID] = ch
	}
	p.s.mu.Unlock()
	told := &Chat{ChatShape: ch.shape(), s: p.s, own: ch}
	if fresh {
		_, _ = p.Write(told, "/start") // cannot be refused
	}
	return told
}

// Write writes a text. A refusal is an *Error.
func (p *Person) Write(ch *Chat, text string) (Message, error) {
	return p.Send(ch, Draft{Text: text})
}

// Reply replies to a message, in its topic.
func (p *Person) Reply(to Message, text string) (Message, error) {
	d := Draft{Text: text, ReplyTo: &to}
	if to.IsTopicMessage {
		d.Topic = to.ThreadID
	}
	return p.Send(&Chat{s: p.s, own: to.own.chat}, d)
}

// Send sends a message. A refusal is an *Error.
func (p *Person) Send(to *Chat, d Draft) (Message, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	ch := to.own
	if !ch.present(p.own) || ch.migratedTo != 0 || ch.blocked {
		return Message{}, forbidden("the person cannot write in the chat")
	}
	var at *topic
	if d.Topic != 0 && d.Topic != generalTopic {
		if at = ch.topic(d.Topic); at == nil || at.closed && !ch.may(p.own, manageTopics) {
			return Message{}, badRequest("TOPIC_CLOSED")
		}
	}
	text, entities := tidy(d.Text, mentionsIn(d.Text, d.Mention))
	if text == "" && d.Photo == nil && d.Document == nil {
		return Message{}, badRequest("message text is empty")
	}
	out := draft{text: text, entities: p.s.detect(text, entities), topic: at, album: d.album}
	if d.ReplyTo != nil {
		out.replyTo = d.ReplyTo.own
	}
	var photo []PhotoSize
	var document *Document
	switch {
	case d.Photo != nil:
		photo = p.s.store("photos", "x.jpg", d.Photo).photo()
	case d.Document != nil:
		document = p.s.store("documents", d.FileName, d.Document).document(d.FileName, d.FileType)
	}
	m := p.s.send(p.own, ch, out, photo, document)
	p.s.happened()
	return *m.shapeFor(nil), nil
}

// SendAlbum sends pictures as an album, whose first one has the text and the reply: each is a message of its own.
func (p *Person) SendAlbum(to *Chat, d Draft, photos ...[]byte) (all []Message, err error) {
	p.s.mu.Lock()
	p.s.lastID++
	d.album = strconv.FormatInt(13_000_000+p.s.lastID, 10)
	p.s.mu.Unlock()
	for _, photo := range photos {
		d.Photo = photo
		m, err := p.Send(to, d)
		if err != nil {
			return all, err
		}
		all = append(all, m)
		d.Text, d.ReplyTo, d.Mention = "", nil, nil
	}
	return all, nil
}

// mentionsIn finds users in a text by their first names, once each.
func mentionsIn(text string, users []User) (all []Entity) {
	for _, u := range users {
		if before, _, found := strings.Cut(text, u.FirstName); found {
			all = append(all, Entity{Type: "text_mention", Offset: units(before), Length: units(u.FirstName), User: &User{ID: u.ID}})
		}
	}
	return all
}

// Edit changes the person's own message.
func (p *Person) Edit(m Message, text string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	own := m.own
	if own.from != p.own {
		return badRequest("message can't be edited")
	}
	own.text, own.entities = tidy(text, nil)
	own.entities = p.s.detect(own.text, own.entities)
	own.edited = p.s.now().Unix()
	for _, bot := range own.chat.bots() {
		if own.visibleTo(bot) {
			p.s.queue(bot, "edited_message", Update{EditedMessage: own.shapeFor(bot)})
		}
	}
	p.s.happened()
	return nil
}

// Delete deletes a message. Bots are not told.
func (p *Person) Delete(m Message) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m.own.chat.remove(m.own)
	p.s.happened()
}

// Join joins a group by its link.
func (p *Person) Join(ch *Chat) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.join(ch.own, p.own, p.own)
	p.s.happened()
}

// Leave leaves a group.
func (p *Person) Leave(ch *Chat) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.setStatus(ch.own, p.own, p.own, statusLeft)
	p.s.happened()
}

// Block blocks a bot, or ends that: its messages are refused with 403.
func (p *Person) Block(b *Bot, blocked bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	ch := b.own.private[p.ID]
	if ch == nil || ch.blocked == blocked {
		return
	}
	ch.blocked = blocked
	status := map[bool]string{true: statusKicked, false: statusMember}
	of := func(blocked bool) member { return (&membership{who: b.own, status: status[blocked]}).shape() }
	p.s.queue(b.own, "my_chat_member", Update{MyChatMember: &MemberChange{Chat: ch.shape(), From: p.User, Date: p.s.now().Unix(), Old: of(!blocked),
		New: of(blocked)}})
}
