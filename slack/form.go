package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

// formTime is how long a reply to a form is waited for: as long as its interaction can be answered.
const formTime = 30 * time.Minute

// forms are the questions that people have not answered yet, one per conversation and person. They are forgotten when the
// program ends.
type forms struct {
	mu   sync.Mutex
	open map[string]question // by conversation and user
}

type question struct {
	form   channel.Form
	of     channel.Interaction
	thread string // in which the reply is expected
	until  time.Time
}

func newForms() *forms { return &forms{open: map[string]question{}} }

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
	m, err := own.post(ctx, deed, i.ChannelID, in, args)
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

// asForm hands a message on as the answer to a form, if it is one.
func (a *app) asForm(f *channel.Message, m *messageShape) bool {
	b, key := a.apps, m.Channel+" "+m.User
	b.forms.mu.Lock()
	q, is := b.forms.open[key]
	is = is && q.of.AccountID == a.own.ID && strings.TrimSpace(f.Content) != "" && b.o.Now().Before(q.until) && (m.inThread() == q.thread || f.GuildID == "")
	if is {
		delete(b.forms.open, key)
	}
	b.forms.mu.Unlock()
	if !is {
		return false
	}
	i := q.of
	i.ID, i.Kind, i.Name, i.At = "form "+f.ID, channel.KindForm, q.form.ID, f.At
	i.Values = map[string]string{q.form.Field: f.Content}
	a.begin(i)
	return true
}
