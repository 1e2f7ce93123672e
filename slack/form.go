package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

const (
	formTime    = 30 * time.Minute // how long a reply to a form is waited for: as long as its interaction can be answered
	maxAnswered = 1000             // replies that are remembered, for the other apps that are told of them
)

// forms are the questions that people have not answered yet, one per conversation and person. Those in threads are
// found again after a restart: see reask.
type forms struct {
	mu       sync.Mutex
	open     map[string]question // by conversation and user
	answered map[string]bool     // ids of messages that were answers
	order    []string            // of answered, oldest first
}

type question struct {
	form   channel.Form
	of     channel.Interaction
	thread string // in which the reply is expected
	until  time.Time
}

func newForms() *forms { return &forms{open: map[string]question{}, answered: map[string]bool{}} }

// askFor asks for a form's text in a message: Slack's own forms need an answer within three seconds of the press.
func (b *Apps) askFor(ctx context.Context, i channel.Interaction, f *channel.Form) error {
	const deed = "ask for a text"
	own, in, err := b.at(deed, i.AccountID, i.ChannelID)
	if err != nil {
		return err
	}
	if _, ts, ok := parseMessage(i.MessageID); ok && in.thread == "" {
		in.thread = ts
	}
	p := channel.Post{AccountID: i.AccountID, ChannelID: i.ChannelID, Notify: []string{i.User.ID},
		Content: "**" + f.Title + "**\n<@" + i.User.ID + "> " + f.Label + " (reply in this thread)"}
	args, err := b.form(deed, &p, in)
	if err != nil {
		return err
	}
	_, pressed, _ := parseMessage(i.MessageID)
	args.Set("metadata", asked{Form: f.ID, Field: f.Field, User: i.User.ID, Message: pressed}.metadata())
	m, err := own.post(ctx, deed, i.ChannelID, in, args, "")
	if err != nil {
		return err
	}
	if in.thread == "" {
		in.thread = m.TS
	}
	b.forms.mu.Lock()
	defer b.forms.mu.Unlock()
	put(b.forms.open, in.chat+" "+i.User.ID, question{form: *f, of: i, thread: in.thread, until: b.o.Now().Add(formTime)})
	return nil
}

// take returns the question that a message answers, to the first app that is told of the message. is says whether it is
// an answer, for every app.
func (f *forms) take(fact *channel.Message, m *messageShape, now time.Time) (q question, first, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answered[fact.ID] {
		return question{}, false, true
	}
	key := m.Channel + " " + m.User
	q, open := f.open[key]
	if !open || strings.TrimSpace(fact.Content) == "" || !now.Before(q.until) || m.inThread() != q.thread && fact.GuildID != "" {
		return question{}, false, false
	}
	delete(f.open, key)
	if len(f.order) >= maxAnswered {
		delete(f.answered, f.order[0])
		f.order = f.order[1:]
	}
	f.answered[fact.ID] = true
	f.order = append(f.order, fact.ID)
	return q, true, true
}

// restore takes back that a message has answered a question: it was not stored.
func (f *forms) restore(q question, fact *channel.Message, m *messageShape) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.answered, fact.ID)
	put(f.open, m.Channel+" "+m.User, q)
}

// answers hands a message on as the answer to a question, from the app that has asked it.
func (a *app) answers(q question, f *channel.Message) {
	i := q.of
	i.ID, i.Kind, i.Name, i.At = "form "+f.ID, channel.KindForm, q.form.ID, f.At
	i.Values = map[string]string{q.form.Field: f.Content}
	own := a.apps.app(i.AccountID)
	if own == nil {
		own = a
	}
	kind := ""
	switch {
	case i.GuildID == "":
		kind = kindDirect
	case i.Group:
		kind = kindGroup
	}
	own.begin(i, kind)
}
