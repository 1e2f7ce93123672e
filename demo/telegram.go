package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// telegram is a Telegram for the play: a group with topics, whose General is the channel.
type telegram struct {
	*telegramtest.Server
	group  *telegramtest.Chat
	person *telegramtest.Person
	bots   []*telegramtest.Bot // in cast order
	names  *strings.Replacer   // usernames to display names
	calls  *strings.Replacer   // display names to usernames
}

func newTelegram(now func() time.Time) (service, error) {
	s, err := telegramtest.New(telegramtest.Options{Now: now})
	if err != nil {
		return nil, err
	}
	d := &telegram{Server: s, person: s.AddPerson(human)}
	var users []telegramtest.User
	var names, calls []string
	for _, a := range cast {
		bot := s.AddBot(a.id, telegramtest.BotOptions{WithoutPrivacy: true})
		d.bots, users = append(d.bots, bot), append(users, bot.User)
		names, calls = append(names, "@"+bot.Username, "@"+a.name), append(calls, "@"+a.name, "@"+bot.Username)
	}
	d.names, d.calls = strings.NewReplacer(names...), strings.NewReplacer(calls...)
	d.group = s.AddGroup("pronto", telegramtest.GroupOptions{Topics: true}, d.person, users...)
	for _, u := range users {
		d.group.Promote(u, telegramtest.Rights{ManageTopics: true})
	}
	return d, nil
}

func (d *telegram) settings() string {
	var accounts []string
	for i, a := range cast {
		accounts = append(accounts, fmt.Sprintf(`%s: { botToken: %q }`, a.id, d.bots[i].Token))
	}
	return fmt.Sprintf(`enabled: true, accounts: { %s }, groupPolicy: "open", collaboration: { defaultChannel: "%d", escalation: { mentionUserId: "%d" } }`,
		strings.Join(accounts, ", "), d.group.ID, d.person.ID)
}

func (d *telegram) serve(o *server.Options) { o.TelegramAPI = d.URL() }

func (d *telegram) connected(ctx context.Context) error {
	for _, b := range d.bots {
		if err := b.WaitConfirmed(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *telegram) say(in, text string) error {
	draft := telegramtest.Draft{Text: d.calls.Replace(text)}
	if n := threadIndex(in); n >= 0 {
		draft.Topic = d.group.Topics()[n].ID
	}
	_, err := d.person.Send(d.group, draft)
	return err
}

func (d *telegram) show(text string, f file) error {
	draft := telegramtest.Draft{Text: d.calls.Replace(text), Document: f.content, FileName: f.name, FileType: f.kind}
	_, err := d.person.Send(d.group, draft)
	return err
}

func (d *telegram) written(in string) (all []message) {
	topic, n, topics := 0, threadIndex(in), d.group.Topics()
	if n >= len(topics) {
		return nil
	}
	if n >= 0 {
		topic = topics[n].ID
	}
	for _, m := range d.group.Messages() {
		if m.ThreadID == topic && m.Text != "" {
			all = append(all, message{d.id(strconv.Itoa(m.MessageID)), d.author(m.From), d.names.Replace(called(&m))})
		}
	}
	return all
}

// called is a text with an @ before the names of people whom it mentions without a username.
func called(m *telegramtest.Message) string {
	units := utf16.Encode([]rune(m.Text))
	text, at := "", 0
	for _, e := range m.Entities {
		if e.Type == "text_mention" {
			text, at = text+string(utf16.Decode(units[at:e.Offset]))+"@", e.Offset
		}
	}
	return text + string(utf16.Decode(units[at:]))
}

// id is the id of a message in the log.
func (d *telegram) id(number string) string {
	return coordination.ChatID{Channel: coordination.Telegram, Chat: strconv.FormatInt(d.group.ID, 10), Message: number}.String()
}

// author is the display name of a bot's agent, or of a person.
func (d *telegram) author(u *telegramtest.User) string {
	for i, b := range d.bots {
		if b.ID == u.ID {
			return cast[i].name
		}
	}
	return u.FirstName
}

func (d *telegram) threads() (names []string) {
	for _, t := range d.group.Topics() {
		names = append(names, t.Name)
	}
	return names
}

func (d *telegram) link(id string) string {
	at, _ := coordination.ParseChatID(id)
	return fmt.Sprintf("https://t.me/c/%s/%d/%s", strings.TrimPrefix(at.Chat, "-100"), d.group.Topics()[0].ID, at.Message)
}

func (d *telegram) until(ctx context.Context, so func() bool) error { return d.Until(ctx, so) }

func (d *telegram) close() error { return d.Close() }
