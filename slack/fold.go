package slack

import (
	"encoding/json"
	"net/url"

	"github.com/pronto-lab/openclawd/channel"
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
			if in.connected {
				a.arrive()
			} else if a.event(in.envelope) && a.ctx.Err() == nil {
				in.ack()
			}
		case <-a.again:
			a.catchUp(nil)
		case <-a.ctx.Done():
			return
		}
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
	case "member_joined_channel", "member_left_channel":
		if m, ok := shape[memberShape](a, kind.Type, outer.Event); ok && m.User == a.current().UserID {
			a.seat.set(m.Channel, kind.Type == "member_joined_channel")
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
	f := a.facts(m)
	if !a.asForm(&f, m) && !a.deliver(channel.Inbound{Kind: channel.Created, Missed: late, Message: f}) {
		return false
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
	now.Channel = m.Channel
	once := fact{message: place{chat: m.Channel}.messageID(now.TS), edited: stamp(now.Edited.TS)}
	if a.memory.seen[once] {
		return true
	}
	if a.isPostponed(m.Channel) {
		return false
	}
	f := a.facts(now)
	if !a.deliver(channel.Inbound{Kind: channel.Edited, Message: f}) {
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
	a.locate(&f, in)
	if !a.deliver(channel.Inbound{Kind: channel.Deleted, Message: f}) {
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

// facts converts a message.
func (a *app) facts(m *messageShape) channel.Message {
	in := place{chat: m.Channel, thread: m.inThread()}
	f := channel.Message{ID: in.messageID(m.TS), Content: content(m.Text, a.channelName), MentionEveryone: mentionsAll(m.Text), At: at(m.TS)}
	f.Author = a.author(m)
	for _, id := range mentioned(m.Text) {
		f.Mentions = append(f.Mentions, a.user(id))
	}
	for _, file := range m.Files {
		f.Attachments = append(f.Attachments, channel.Attachment{Name: file.Name, Type: file.Mimetype, URL: file.Private, Size: file.Size})
	}
	if m.Edited != nil {
		f.EditedAt = at(m.Edited.TS)
	}
	a.locate(&f, in)
	if f.ParentID == "" && in.thread != "" { // a direct conversation
		f.ReplyTo, f.ReplyAuthor = in.messageID(in.thread), m.ParentUser
	}
	return f
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

// user is what is known of a user. Slack tells ids only, so an unknown one is requested.
func (a *app) user(id string) channel.User {
	u, known := a.apps.directory.user(id)
	if !known {
		if got, refused := a.ask(a.ctx, "request a user", "", "users.info", url.Values{"user": {id}}); refused == nil {
			if said, ok := shape[struct {
				User userShape `json:"user"`
			}](a, "user", got.body); ok {
				u = said.User
				a.apps.directory.addUser(u)
			}
		}
	}
	return channel.User{ID: id, Name: firstOf(a.apps.Registry().Name(id), u.name()), Bot: u.IsBot}
}

// locate says where a message is. A thread in a direct conversation is not a place of its own: an agent's session there
// is the person's.
func (a *app) locate(f *channel.Message, in place) {
	p := a.conversation(in.chat)
	f.ChannelID, f.GuildID = p.ID, p.GuildID
	switch {
	case in.thread == "":
	case p.GuildID == "":
		a.apps.directory.addRoot(f.ID, in.thread)
	default:
		thread := a.apps.directory.addThread(in, "")
		f.ChannelID, f.ParentID, f.ThreadName = thread.ID, p.ID, thread.Name
	}
}

func (a *app) channelName(chat string) string { return a.apps.ChannelName(place{chat: chat}.id()) }
