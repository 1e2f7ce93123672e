package slack

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// fold delivers what Slack tells, in order.
func (a *app) fold() {
	defer func() {
		if a.later != nil {
			a.later.Stop()
		}
	}()
	a.apps.allMet(a.ctx)
	for {
		select {
		case in := <-a.queue:
			if a.stale.Swap(false) || in.connected {
				a.arrive(in.brief)
			}
			if !in.connected {
				a.handle(in)
			}
		case <-a.again:
			a.catchUp(nil)
		case <-a.ctx.Done():
			return
		}
	}
}

// handle handles an event, and tells Slack so unless it has to tell the event again.
func (a *app) handle(in incoming) {
	switch {
	case a.event(in.envelope) && a.ctx.Err() == nil:
		in.ack()
	case in.refuse != nil:
		in.refuse()
	}
}

// event handles an event. It returns false if Slack has to tell it again.
func (a *app) event(e envelope) bool {
	outer, ok := shape[eventShape](a, "event", e.Payload)
	if !ok {
		return true // it would be the same the next time
	}
	kind, ok := shape[struct {
		Type string `json:"type"`
	}](a, "event", outer.Event)
	if !ok {
		return true
	}
	switch kind.Type {
	case "message", "app_mention": // a mention may come as both, in any order
		if m, ok := shape[messageShape](a, kind.Type, outer.Event); ok {
			return a.message(&m, false)
		}
	case "reaction_added", "reaction_removed":
		if r, ok := shape[reactionShape](a, kind.Type, outer.Event); ok {
			return a.reacted(&r, kind.Type == "reaction_removed")
		}
	case "member_joined_channel", "member_left_channel":
		if m, ok := shape[memberShape](a, kind.Type, outer.Event); ok && m.User == a.current().UserID {
			a.seat.set(m.Channel, kind.Type == "member_joined_channel")
		}
	case "channel_left", "group_left":
		if m, ok := shape[memberShape](a, kind.Type, outer.Event); ok {
			a.seat.set(m.Channel, false)
		}
	}
	return true
}

// shape parses something that Slack tells. What is unreadable is logged without its content.
func shape[T any](a *app, what string, data json.RawMessage) (v T, ok bool) {
	if err := json.Unmarshal(data, &v); err != nil {
		a.log.Warn("cannot parse what Slack tells; skipped", "what", what, "err", err)
		return v, false
	}
	return v, true
}

// message delivers what an event tells about a message, or history does. It returns false if that has to wait.
func (a *app) message(m *messageShape, late bool) bool {
	switch {
	case m.Subtype == "message_changed" && m.Message != nil:
		return a.edited(m)
	case m.Subtype == "message_deleted":
		return a.deleted(m)
	case m.written():
		return a.created(m, late)
	}
	return true
}

func (a *app) created(m *messageShape, late bool) bool {
	in := place{chat: m.Channel, thread: m.inThread()}
	once := fact{message: in.messageID(m.TS)}
	if a.memory.seen[once] {
		return true
	}
	if !late && a.isPostponed(m.Channel) {
		return false
	}
	a.seat.set(m.Channel, true)
	f, sure := a.facts(m)
	if !sure {
		return false
	}
	if f.Author.Account != "" {
		nonce, known := a.nonceOf(m, f.Author.Account, late)
		if !known {
			return false
		}
		f.Nonce = nonce
	}
	if f.Author.Account == "" {
		a.reask(m)
	}
	q, first, answer := a.apps.forms.take(&f, m, a.apps.o.Now())
	f.Interaction = answer
	if !a.deliver(channel.Inbound{Kind: channel.Created, Missed: late, Message: f}) {
		if first {
			a.apps.forms.restore(q, &f, m)
		}
		return false
	}
	if first {
		a.answers(q, &f)
	}
	a.memory.recordDelivered(once)
	a.memory.recordMessage(in.id(), stamp(m.TS))
	if late {
		a.fetched()
	}
	return true
}

// edited delivers an edit by an author. Slack also tells changes of its own, such as previews of links.
func (a *app) edited(m *messageShape) bool {
	now := m.Message
	if now.Edited == nil || !now.written() || m.Previous != nil && m.Previous.Text == now.Text {
		return true
	}
	now.Channel, now.ChannelType = m.Channel, m.ChannelType
	once := fact{message: place{chat: m.Channel}.messageID(now.TS), edited: stamp(now.Edited.TS)}
	if a.memory.seen[once] {
		return true
	}
	if a.isPostponed(m.Channel) {
		return false
	}
	f, sure := a.facts(now)
	if !sure || !a.deliver(channel.Inbound{Kind: channel.Edited, Message: f}) {
		return false
	}
	a.memory.recordDelivered(once)
	return true
}

func (a *app) deleted(m *messageShape) bool {
	in := place{chat: m.Channel}
	if m.Previous != nil {
		in.thread = m.Previous.inThread()
	}
	once := fact{message: in.messageID(m.DeletedTS), edited: -1}
	if stamp(m.DeletedTS) == 0 || a.memory.seen[once] {
		return true
	}
	f := channel.Message{ID: once.message, At: at(m.DeletedTS)}
	if !a.locate(&f, in, m.ChannelType) || !a.deliver(channel.Inbound{Kind: channel.Deleted, Message: f}) {
		return false
	}
	a.memory.recordDelivered(once)
	return true
}

// deliver delivers a fact, and returns when it is stored; false if the app ends before.
func (a *app) deliver(in channel.Inbound) bool {
	in.AccountID, in.BotID = a.own.ID, a.current().UserID
	d := delivery{in: in, done: make(chan struct{})}
	select {
	case a.apps.inbound <- d:
	case <-a.ctx.Done():
		return false
	}
	<-d.done // Run has taken it
	return true
}

// facts converts a message; false if it is not known for now where that is.
func (a *app) facts(m *messageShape) (f channel.Message, sure bool) {
	a.asks = maxAsked
	in := place{chat: m.Channel, thread: m.inThread()}
	f = channel.Message{ID: in.messageID(m.TS), Content: content(m.Text, a.channelName), MentionEveryone: mentionsAll(m.Text), At: at(m.TS)}
	if strings.TrimSpace(f.Content) == "" && len(m.Files) == 0 {
		f.Content = a.shown(m)
	}
	f.Author = a.author(m)
	for _, id := range mentioned(m.Text) {
		f.Mentions = append(f.Mentions, a.user(id))
	}
	for _, file := range m.Files {
		f.Attachments = append(f.Attachments, channel.Attachment{Name: file.Name, Type: file.Mimetype, URL: file.Private, Size: file.Size, Ref: a.apps.fileRef(&file)})
	}
	if m.Edited != nil {
		f.EditedAt = at(m.Edited.TS)
	}
	sure = a.locate(&f, in, m.ChannelType)
	if f.ParentID == "" && in.thread != "" { // a direct conversation
		f.ReplyTo, f.ReplyAuthor = in.messageID(in.thread), m.ParentUser
	}
	return f, sure
}

// shown says what a message without text and files has.
func (a *app) shown(m *messageShape) string {
	var all []string
	for i := range m.Attachments {
		if text := firstOf(m.Attachments[i].Text, m.Attachments[i].Fallback, m.Attachments[i].Title); text != "" {
			all = append(all, content(text, a.channelName))
		}
	}
	if len(all) == 0 {
		return "[a message that openclawd cannot show]"
	}
	return strings.Join(all, "\n")
}

func (a *app) author(m *messageShape) channel.Author {
	if m.User == "" { // a webhook
		name := m.Username
		if m.BotProfile != nil {
			name = firstOf(name, m.BotProfile.Name)
		}
		return channel.Author{User: channel.User{ID: m.BotID, Name: name, Bot: true}, Webhook: true}
	}
	author := channel.Author{User: a.user(m.User)}
	author.Bot = author.Bot || m.BotID != ""
	if who, ours := a.apps.Registry().User(m.User); ours {
		author.Account, author.Agent = who.AccountID, who.AgentID
	}
	return author
}

// Bounds of the requests for users.
const (
	maxAsked  = 10               // of one message
	userAgain = 10 * time.Minute // after a failure
)

// user is what is known of a user. Slack tells ids only, so an unknown one is requested, if that has not failed lately.
func (a *app) user(id string) channel.User {
	u, known := a.apps.directory.user(id)
	if !known && a.asks > 0 && a.apps.directory.mayAsk("user "+id+" "+a.own.ID, a.apps.o.Now(), userAgain) {
		a.asks--
		u = a.requestUser(id)
	}
	return channel.User{ID: id, Name: firstOf(a.apps.Registry().Name(id), u.name()), Bot: u.IsBot}
}

func (a *app) requestUser(id string) (u userShape) {
	got, refused := a.ask(a.ctx, "request a user", "", "users.info", url.Values{"user": {id}})
	if refused != nil {
		if refused.Class == collaborate.ClassRateLimited {
			a.asks = 0
		}
		return u
	}
	said, ok := shape[struct {
		User userShape `json:"user"`
	}](a, "user", got.body)
	if ok && said.User.ID == id {
		a.apps.directory.addUser(said.User)
		return said.User
	}
	return u
}

// locate says where a message is, in a conversation of a kind; false if that is not known for now. A thread in a direct
// conversation is not a place of its own: an agent's session there is the person's.
func (a *app) locate(f *channel.Message, in place, kind string) bool {
	p, group, sure := a.conversation(in.chat, kind)
	f.ChannelID, f.GuildID, f.Group = p.ID, p.GuildID, group
	switch {
	case p.GuildID == "":
		a.apps.directory.addRoot(f.ID, in.thread)
	case in.thread == "":
	default:
		thread := a.apps.directory.addThread(in, &p, "")
		f.ChannelID, f.ParentID, f.ThreadName = thread.ID, p.ID, thread.Name
	}
	return sure
}

func (a *app) channelName(chat string) string { return a.apps.ChannelName(place{chat: chat}.id()) }
