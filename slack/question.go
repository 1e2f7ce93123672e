package slack

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/channel"
)

// metadataForm is the type of the metadata of a message that asks for a form's text: by it the app knows its question after a
// restart.
const metadataForm = "openclawd_form"

// asked is what such a message says.
type asked struct {
	Form    string `json:"form"`
	Field   string `json:"field"`
	User    string `json:"user"`
	Message string `json:"message"` // of the button, by its timestamp; "" if there is none
}

func (q asked) metadata() string {
	payload, _ := json.Marshal(q) // texts always encode
	text, _ := json.Marshal(metadataShape{Type: metadataForm, Payload: payload})
	return string(text)
}

// reask makes the questions in the thread of a reply known again, if it is one of our apps'. It asks Slack once for each such
// thread: what is asked after a start is known.
func (a *app) reask(m *messageShape) {
	thread := m.inThread()
	who, ours := a.apps.Registry().User(m.ParentUser)
	own := a.apps.app(who.AccountID)
	if thread == "" || !ours || own == nil || m.BotID != "" {
		return
	}
	a.apps.reasking.Lock() // another app that is told of the reply needs the outcome, too
	defer a.apps.reasking.Unlock()
	if !a.apps.directory.mayAsk("questions "+m.Channel+" "+thread, a.apps.o.Now(), 24*time.Hour) {
		return
	}
	in := place{chat: m.Channel, thread: thread}
	page, refused := own.page("look for questions", in.id(), "conversations.replies", url.Values{"channel": {m.Channel}, "ts": {thread},
		"limit": {strconv.Itoa(missedPage)}, "include_all_metadata": {"true"}})
	if refused != nil {
		a.log.Warn("cannot look up what was asked before the start; a reply to that is a message", "place", in.id(), "err", refused)
		return
	}
	for i := range page.Messages {
		own.reopen(in, &page.Messages[i], m, page.Messages)
	}
}

// reopen makes a question known again, unless it was answered before the message at hand.
func (a *app) reopen(in place, said, at *messageShape, all []messageShape) {
	var q asked
	if said.Metadata == nil || said.Metadata.Type != metadataForm || json.Unmarshal(said.Metadata.Payload, &q) != nil || said.User != a.current().UserID {
		return
	}
	of := channel.Interaction{AccountID: a.own.ID, ChannelID: in.id(), User: a.user(q.User)}
	for i := range all {
		one := &all[i]
		if one.User == q.User && stamp(one.TS) > stamp(said.TS) && stamp(one.TS) < stamp(at.TS) {
			return
		}
		if one.TS == q.Message {
			of.MessageID, of.Text = in.messageID(one.TS), content(one.Text, a.channelName)
		}
	}
	f := a.apps.forms
	f.mu.Lock()
	defer f.mu.Unlock()
	if key := in.chat + " " + q.User; f.open[key].form.ID == "" && !f.answered[in.messageID(at.TS)] { // else another app was told before
		put(f.open, key, question{form: channel.Form{ID: q.Form, Field: q.Field}, of: of, thread: in.thread,
			until: time.UnixMilli(stamp(said.TS) / 1000).Add(formTime)})
	}
}

// respondAnew answers an interaction from before a restart, whose address is not known any more, in the place itself.
func (b *Apps) respondAnew(ctx context.Context, i channel.Interaction, a channel.InteractionAnswer) error {
	if a.Update && i.MessageID != "" {
		in, _, _ := parseMessage(i.MessageID)
		return b.Edit(ctx, i.AccountID, in.id(), i.MessageID, a.Text)
	}
	_, err := b.Send(ctx, channel.Post{AccountID: i.AccountID, ChannelID: i.ChannelID, Content: a.Text})
	return err
}
