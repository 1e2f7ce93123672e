package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Limits of Telegram.
const (
	maxButtonData = 64  // bytes
	maxNotice     = 200 // UTF-16 units of what is shown over the chat
)

// Tokens of interactions, with what follows.
const (
	queryToken   = "q" // a button: its query's id
	messageToken = "m" // a command, or the reply to a form: the message's number
)

// interaction returns the interaction that a message is: a command of ours, or the reply to a form. It has no Kind if the
// message is neither. by is the bot that handles it, if that was not left to another bot, or done before.
func (b *bot) interaction(m *messageShape, fact *channel.Inbound, update int64) (i channel.Interaction, by *bot) {
	f := &fact.Message
	i = channel.Interaction{GuildID: f.GuildID, ChannelID: f.ChannelID, ParentID: f.ParentID, User: f.Author.User, At: f.At,
		Token: config.Secret(messageToken + strconv.Itoa(m.ID)), ID: b.interactionID(strconv.FormatInt(update, 10))}
	b.reask(m, f.ReplyTo)
	if asked, first, is := b.bots.forms.take(f.ReplyTo, f.Author.ID, f.ID); is {
		i.Kind, i.Name, i.Values = channel.KindForm, asked.form.ID, map[string]string{asked.form.Field: coordination.Head(f.Content, asked.form.Max)}
		i.MessageID, i.Text, i.ID = asked.message, asked.text, "form "+f.ID
		if first {
			by = asked.by
			i.Token = config.Secret(messageToken + strconv.Itoa(by.numberOf(m.Chat.ID, f.ID)))
		}
		return i, by
	}
	if name, is := b.command(m); is {
		i.Kind, i.Name = channel.KindCommand, name
		if b.answers(m) {
			by = b
		}
	}
	return i, by
}

func (b *bot) interactionID(own string) string {
	return coordination.ChatID{Channel: coordination.Telegram, Chat: idText(b.user.Load()), Message: own}.String()
}

// command returns the name of a registered command that a message begins with.
func (b *bot) command(m *messageShape) (string, bool) {
	name, _, _ := strings.Cut(strings.ToLower(m.firstCommand()), "@")
	for _, c := range b.bots.o.Commands {
		if c.Name == name {
			return name, true
		}
	}
	return "", false
}

// firstCommand is the command that a message begins with, without its slash, and with the bot's name that it has; "" is
// none.
func (m *messageShape) firstCommand() string {
	text, entities := m.said()
	units := utf16.Encode([]rune(text))
	for _, e := range entities {
		if e.Type == "bot_command" && e.Offset == 0 && e.Length > 1 && e.Length <= len(units) {
			return string(utf16.Decode(units[1:e.Length]))
		}
	}
	return ""
}

// answers reports whether this bot answers a command: the one it names, in a private chat its own bot, else the first
// one that receives all messages of the group, else whichever receives it.
func (b *bot) answers(m *messageShape) bool {
	if _, named, is := strings.Cut(m.firstCommand(), "@"); is {
		return strings.EqualFold(named, *b.handle.Load())
	}
	if m.Chat.Type == typePrivate {
		return true
	}
	for _, other := range b.bots.all() {
		if _, in := b.bots.directory.seat(m.Chat.ID, other.user.Load()); in && !other.refused() && other.sees(m.Chat.ID) {
			return other == b
		}
	}
	return true
}

// pressed handles a pressed button.
func (b *bot) pressed(p *pressShape) {
	if p.Message == nil || p.Data == "" {
		return
	}
	m, user := p.Message, b.user.Load()
	b.bots.directory.addMessage(m, user)
	b.bots.directory.mu.Lock()
	b.bots.directory.addUser(&p.From)
	b.bots.directory.mu.Unlock()
	at := numbered(&m.Chat, user)
	i := channel.Interaction{Kind: channel.KindButton, ID: b.interactionID("q" + p.ID), Token: config.Secret(queryToken + p.ID), Name: p.Data,
		ChannelID: b.bots.placeOfMessage(m, user), User: p.From.user(), At: b.bots.o.Now().UnixMilli()}
	i.MessageID, _ = b.idOf(channel.Created, m)
	i.Text, _ = m.said()
	if m.Chat.Type != typePrivate {
		i.GuildID = placeID(at)
	}
	if b.bots.directory.topicOf(m) != 0 {
		i.ParentID = placeID(at)
	}
	b.offer(i)
}

// offer hands an interaction to Options.OnInteraction.
func (b *bot) offer(i channel.Interaction) {
	i.AccountID, i.ApplicationID = b.account, idText(b.user.Load())
	if who, known := b.bots.Registry().Account(b.account); known {
		i.AgentID = who.AgentID
	}
	t := b.bots.asked.Begin(i.ID)
	if t == channel.TurnNone {
		return
	}
	go func() {
		defer b.bots.asked.End(t)
		if t == channel.TurnTold {
			b.bots.o.OnInteraction(i)
			return
		}
		b.log.Warn("too many interactions in progress; answering that the bot is busy", "interaction", i.ID, "most", channel.MaxInteractions)
		if err := b.bots.Answer(b.ctx, i, channel.InteractionAnswer{Text: channel.BusyText, Private: true}); err != nil {
			b.log.Warn("cannot answer an interaction", "interaction", i.ID, "err", err)
		}
	}()
}

// Answer implements channel.Answerer. A short private answer to a button is shown over the chat to the person alone;
// Telegram has no other private answers in groups, so they are posted.
func (b *Bots) Answer(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "answer an interaction"
	own, _, err := b.at(deed, i.AccountID, i.ChannelID)
	if err != nil {
		return err
	}
	limits := channel.Traits(b)
	notice := a.Private && !a.Update && !a.Later && a.Form == nil && limits.Length(a.Text) <= maxNotice
	if query, is := strings.CutPrefix(i.Token.Reveal(), queryToken); is {
		f := pressedForm{query: query}
		if notice {
			f.text, f.alert = a.Text, true
		}
		if _, refused := own.ask(ctx, deed, i.ChannelID, f); refused != nil && notice {
			return refused
		} else if refused != nil {
			own.log.Warn("cannot acknowledge a button", "interaction", i.ID, "err", refused)
		}
		if notice {
			return nil
		}
	}
	switch {
	case a.Form != nil:
		return b.form(ctx, deed, own, &i, a.Form)
	case a.Later:
		return nil
	case a.Update:
		return b.Amend(ctx, i, a)
	}
	return b.Add(ctx, i, a)
}

// Amend implements channel.Answerer.
func (b *Bots) Amend(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "amend an answer"
	if !a.Update || i.MessageID == "" {
		return b.Add(ctx, i, a)
	}
	own, at, err := b.at(deed, i.AccountID, i.ChannelID)
	if err != nil {
		return err
	}
	if n := own.numberOf(at.chat, i.MessageID); n != 0 {
		if refused := b.edit(ctx, deed, own, i.ChannelID, at.chat, n, a.Text); refused == nil || refused.Class != collaborate.ClassNotFound {
			return orNil(refused)
		}
	}
	return b.Add(ctx, i, a) // the message no longer exists
}

// orNil avoids an error that is a nil pointer.
func orNil(e *channel.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// Add implements channel.Answerer.
func (b *Bots) Add(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	const deed = "add to an answer"
	own, at, err := b.at(deed, i.AccountID, i.ChannelID)
	if err != nil {
		return err
	}
	text := b.markup(a.Text, nil)
	f := sendForm{chat: at.chat, text: text.markdown, markdown: true}
	if f.topic, f.replyTo, err = b.aim(ctx, deed, own, at, replyTo(own, at, &i)); err != nil {
		return err
	}
	_, err = b.post(ctx, deed, own, i.ChannelID, f, text.plain)
	return err
}

// replyTo is the number of the message that an answer replies to.
func replyTo(own *bot, at place, i *channel.Interaction) int {
	if n, is := strings.CutPrefix(i.Token.Reveal(), messageToken); is {
		number, _ := strconv.Atoi(n)
		return number
	}
	return own.numberOf(at.chat, i.MessageID)
}

// form asks for a text in a message, which the person replies to.
func (b *Bots) form(ctx context.Context, deed string, own *bot, i *channel.Interaction, asks *channel.Form) error {
	at, err := placeFor(deed, own.account, i.ChannelID, own.user.Load())
	if err != nil {
		return err
	}
	at.chat = b.directory.current(at.chat)
	link := own.linkOf(at.chat, question{asks.ID, asks.Field, asks.Max, i.User.ID})
	text := b.markup("["+asks.Title+"]("+link+")\n"+asks.Label+" <@"+i.User.ID+">", []string{i.User.ID})
	f := sendForm{chat: at.chat, text: text.markdown, markdown: true, ask: true}
	if f.topic, f.replyTo, err = b.aim(ctx, deed, own, at, 0); err != nil {
		return err
	}
	m, err := b.post(ctx, deed, own, i.ChannelID, f, text.plain)
	if err != nil {
		return err
	}
	id, _ := own.idOf(channel.Created, &m)
	b.forms.put(id, openForm{form: *asks, by: own, user: i.User.ID, message: i.MessageID, text: i.Text})
	return nil
}

// maxForms is how many forms wait for a reply; beyond that the oldest is dropped.
const maxForms = 1000

type openForm struct {
	form     channel.Form
	by       *bot   // that has asked
	user     string // who is asked
	message  string // of the button that has opened it
	text     string // of that message
	answered string // id of the reply; "" if there is none yet
}

// forms are the messages that ask for a text, by their ids in the log, which are the same for all bots. Those answered
// stay for a while: other bots may receive the reply, too.
type forms struct {
	mu    sync.Mutex
	asked map[string]openForm
	order []string
}

func newForms() *forms { return &forms{asked: map[string]openForm{}} }

func (f *forms) put(id string, form openForm) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.order) >= maxForms {
		delete(f.asked, f.order[0])
		f.order = f.order[1:]
	}
	f.asked[id] = form
	f.order = append(f.order, id)
}

// knows reports whether a question was asked since the start.
func (f *forms) knows(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, is := f.asked[id]
	return is
}

// take returns the form that a message of a user replies to, if it is the first reply. first says whether no bot has
// received the message before.
func (f *forms) take(id, user, reply string) (form openForm, first, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	form, is = f.asked[id]
	if !is || form.user != user || form.answered != "" && form.answered != reply {
		return openForm{}, false, false
	}
	first = form.answered == ""
	form.answered = reply
	f.asked[id] = form
	return form, first, true
}

// reopen takes back that a form was answered: the reply was not stored.
func (f *forms) reopen(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if form, is := f.asked[id]; is {
		form.answered = ""
		f.asked[id] = form
	}
}

type buttonShape struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// marks show what Telegram's buttons cannot show by colours.
var marks = map[channel.ButtonStyle]string{channel.ButtonGood: "✅ ", channel.ButtonDanger: "❌ "}

// Components implements channel.Poster: one row of buttons.
func (b *Bots) Components(buttons []channel.Button) json.RawMessage {
	row := []buttonShape{}
	for _, one := range buttons {
		if one.ID == "" || len(one.ID) > maxButtonData {
			return nil
		}
		row = append(row, buttonShape{Text: marks[one.Style] + one.Label, Data: one.ID})
	}
	if len(row) == 0 {
		return nil
	}
	text, err := json.Marshal([][]buttonShape{row})
	if err != nil {
		return nil
	}
	return text
}
