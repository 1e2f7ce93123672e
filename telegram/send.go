package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Send implements channel.Poster. Where Telegram cannot parse the markup, the text is posted without any. Because no
// bot receives what a bot has written, Posted.Tell delivers the message to Options.OnMessage.
func (b *Bots) Send(ctx context.Context, p channel.Post) (channel.Posted, error) {
	const deed = "post a message"
	own, at, err := b.at(deed, p.AccountID, p.ChannelID)
	if err != nil {
		return channel.Posted{}, err
	}
	if err := b.check(deed, &p); err != nil {
		return channel.Posted{}, err
	}
	text := b.markup(p.Content, p.Notify)
	f := sendForm{chat: at.chat, text: text.markdown, markdown: true, keyboard: p.Components}
	if p.File != nil {
		f.file, f.photo, f.markdown = p.File, isPhoto(p.File), false
	}
	if p.ReplyTo != "" {
		f.replyTo = own.numberOf(at.chat, p.ReplyTo)
	}
	if f.topic, f.replyTo, err = b.aim(ctx, deed, own, at, f.replyTo); err != nil {
		return channel.Posted{}, err
	}
	leave, err := b.enter(ctx, deed, own, at, p.ChannelID)
	if err != nil {
		return channel.Posted{}, err
	}
	defer leave()
	m, err := b.post(ctx, deed, own, p.ChannelID, f, text.plain)
	if err != nil {
		return channel.Posted{}, err
	}
	if at.topic != 0 && f.topic == 0 {
		b.directory.join(&m, at.topic)
	}
	posted := b.posted(own, &m)
	posted.Tell = func(ctx context.Context) { b.tell(ctx, own, &m, &p, posted.ID) }
	return posted, nil
}

// maxPhoto is the size limit of what Telegram takes as a picture, in bytes.
const maxPhoto = 10 << 20

func isPhoto(f *channel.File) bool {
	return (f.Type == "image/png" || f.Type == "image/jpeg") && len(f.Content) <= maxPhoto
}

// maxShortName is how many characters of a name are shown in a text that names would make too long: it is shorter than any
// mention.
const maxShortName = 8

// markup is a text as Telegram takes it. Names instead of mentions do not make it longer than Telegram allows.
func (b *Bots) markup(text string, notify []string) rendered {
	limits := channel.Traits(b)
	r := render(text, b.mentions(notify, maxName))
	if limits.Length(r.plain) > limits.MaxMessage {
		r = render(text, b.mentions(notify, maxShortName))
	}
	return r
}

// at returns the bot and the place of a request.
func (b *Bots) at(deed, account, id string) (*bot, place, error) {
	own := b.bot(account)
	if own == nil {
		return nil, place{}, channel.NoBot(coordination.Telegram, deed, account, id)
	}
	at, err := placeFor(deed, account, id, own.user.Load())
	at.chat = b.directory.current(at.chat)
	return own, at, err
}

// check refuses what Telegram would refuse.
func (b *Bots) check(deed string, p *channel.Post) error {
	limits := channel.Traits(b)
	refuse := func(why, hint string) error {
		return channel.Local(deed, p.AccountID, p.ChannelID, http.StatusBadRequest, errors.New(why), hint)
	}
	var rows []json.RawMessage
	if p.ReplyTo != "" {
		if _, _, ok := parseMessage(p.ReplyTo); !ok {
			return refuse(fmt.Sprintf("%q is no message of Telegram", coordination.Head(p.ReplyTo, maxShown)), "name a message like telegram:-1001234567890:55")
		}
	}
	switch n := limits.Length(p.Content); {
	case coordination.TrimJS(p.Content) == "" && p.File == nil:
		return refuse("content is empty", "say something")
	case n > limits.MaxMessage:
		return refuse(fmt.Sprintf("content has %d characters, Telegram allows %d", n, limits.MaxMessage), "split it")
	case len(p.Components) > 0 && json.Unmarshal(p.Components, &rows) != nil:
		return refuse("components are no JSON array", `write [[{"text": "...", "callback_data": "..."}]]`)
	}
	return nil
}

// enter waits for the turn of a request that posts or edits: Telegram's limits are those of a chat, with all its topics.
func (b *Bots) enter(ctx context.Context, deed string, own *bot, at place, id string) (leave func(), err error) {
	leave, err = b.lanes.Enter(ctx, laneOf(own, at.chat), own.account, *b.pace.Load())
	if err != nil {
		return nil, channel.Queued(coordination.Telegram, deed, own.account, id, err)
	}
	return leave, nil
}

func laneOf(own *bot, chat int64) string { return own.account + " in " + idText(chat) }

// post makes the request, once more as plain text if Telegram cannot parse the markup, and once more if the group has
// become a supergroup. Neither refused request was executed.
func (b *Bots) post(ctx context.Context, deed string, own *bot, id string, f sendForm, plain string) (messageShape, error) {
	a, refused := own.ask(ctx, deed, id, f)
	if to := movedTo(a); to != 0 {
		b.directory.move(f.chat, to)
		own.log.Warn("the group has become a supergroup: replace its id in the configuration", "from", placeID(place{chat: f.chat}), "to", placeID(place{chat: to}))
		f.chat, f.replyTo = to, 0
		a, refused = own.ask(ctx, deed, id, f)
	}
	if f.markdown && unparsed(refused) {
		own.log.Warn("Telegram cannot parse the markup of a message; posted without", "place", id, "err", refused)
		f.text, f.markdown = plain, false
		a, refused = own.ask(ctx, deed, id, f)
	}
	if f.photo && refused != nil && refused.Class == collaborate.ClassRejected { // not every picture has the form of a photo
		f.photo = false
		a, refused = own.ask(ctx, deed, id, f)
	}
	if refused != nil {
		b.hold(own, f.chat, refused)
		return messageShape{}, refused
	}
	return result[messageShape](deed, own.account, a)
}

// hold lets the bot write nothing in a chat for as long as Telegram demands.
func (b *Bots) hold(own *bot, chat int64, refused *channel.Error) {
	b.lanes.Hold(laneOf(own, chat), own.account, refused.Failure.RetryAfter)
}

func (b *Bots) posted(own *bot, m *messageShape) channel.Posted {
	user := own.user.Load()
	b.directory.addMessage(m, user)
	id, _ := own.idOf(channel.Created, m)
	p := channel.Posted{ID: id, ChannelID: b.placeOfMessage(m, user), At: m.Date * 1000}
	if m.Chat.Type != typePrivate {
		p.GuildID = placeID(numbered(&m.Chat, user))
	}
	return p
}

func (b *Bots) placeOfMessage(m *messageShape, user int64) string {
	at := numbered(&m.Chat, user)
	at.topic = b.directory.topicOf(m)
	return placeID(at)
}

// tell delivers a message that one of our bots has posted.
func (b *Bots) tell(ctx context.Context, own *bot, m *messageShape, p *channel.Post, id string) {
	user := own.user.Load()
	fact := channel.Inbound{Kind: channel.Created, AccountID: own.account, BotID: idText(user), Message: channel.Message{
		ID: id, ChannelID: b.placeOfMessage(m, user), Content: p.Content, ReplyTo: p.ReplyTo, Nonce: p.Nonce, At: m.Date * 1000,
		Author: channel.Author{User: channel.User{ID: idText(user), Name: own.current().UserName, Bot: true}, Account: own.account},
	}}
	f := &fact.Message
	if p.File != nil {
		f.Attachments = []channel.Attachment{{Name: p.File.Name, Type: p.File.Type, Size: p.File.Size}}
	}
	if who, known := b.Registry().Account(own.account); known {
		f.Author.Agent = who.AgentID
	}
	if m.Chat.Type != typePrivate {
		f.GuildID = placeID(numbered(&m.Chat, user))
	}
	if b.directory.topicOf(m) != 0 {
		f.ParentID = placeID(numbered(&m.Chat, user))
		at, _ := b.directory.place(f.ChannelID)
		f.ThreadName = at.Name
	}
	for _, one := range anyMention.FindAllStringSubmatch(p.Content, -1) {
		f.Mentions = append(f.Mentions, b.userOf(one[1]))
	}
	b.deliver(ctx, fact)
}

// Edit implements channel.Poster.
func (b *Bots) Edit(ctx context.Context, account, id, message, content string) error {
	const deed = "edit a message"
	own, at, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	if err := b.check(deed, &channel.Post{AccountID: account, ChannelID: id, Content: content}); err != nil {
		return err
	}
	n, err := own.messageIn(deed, at.chat, id, message)
	if err != nil {
		return err
	}
	leave, err := b.enter(ctx, deed, own, at, id)
	if err != nil {
		return err
	}
	defer leave()
	if refused := b.edit(ctx, deed, own, id, at.chat, n, content); refused != nil {
		return refused
	}
	return nil
}

// messageIn is the number of a message of a chat.
func (b *bot) messageIn(deed string, chat int64, id, message string) (int, error) {
	n := b.numberOf(chat, message)
	if n == 0 {
		return 0, channel.Local(deed, b.account, id, http.StatusNotFound, fmt.Errorf("%q is no message of the chat", coordination.Head(message, maxShown)),
			"name a message like telegram:-1001234567890:55")
	}
	return n, nil
}

// edit changes a text. That it is the same already is no failure.
func (b *Bots) edit(ctx context.Context, deed string, own *bot, id string, chat int64, n int, content string) *channel.Error {
	text := b.markup(content, nil)
	f := editForm{chat: chat, message: n, text: text.markdown, markdown: true}
	_, refused := own.ask(ctx, deed, id, f)
	if unparsed(refused) {
		f.text, f.markdown = text.plain, false
		_, refused = own.ask(ctx, deed, id, f)
	}
	if refused != nil && isSame(refused) {
		return nil
	}
	if refused != nil {
		b.hold(own, chat, refused)
	}
	return refused
}

// Typing implements channel.Poster.
func (b *Bots) Typing(ctx context.Context, account, id string) error {
	const deed = "show typing"
	own, at, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	topic, _, err := b.aim(ctx, deed, own, at, 0)
	if err != nil {
		return err
	}
	if _, refused := own.ask(ctx, deed, id, typingForm{chat: at.chat, topic: topic}); refused != nil {
		return refused
	}
	return nil
}

// React implements channel.Poster. Telegram accepts some emoji only, and a bot has one reaction to a message.
func (b *Bots) React(ctx context.Context, account, id, message, emoji string, on bool) error {
	const deed = "react to a message"
	own, at, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	n, err := own.messageIn(deed, at.chat, id, message)
	if err != nil {
		return err
	}
	leave, err := b.enter(ctx, deed, own, at, id)
	if err != nil {
		return err
	}
	defer leave()
	if !on {
		emoji = ""
	}
	if _, refused := own.ask(ctx, deed, id, reactForm{chat: at.chat, message: n, emoji: emoji}); refused != nil {
		b.hold(own, at.chat, refused)
		return refused
	}
	return nil
}
