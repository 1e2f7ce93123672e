package discord

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// folded reports whether events of a type are handled.
func folded(kind string) bool {
	return slices.Contains([]string{"READY", "GUILD_CREATE", "GUILD_UPDATE", "GUILD_DELETE", "CHANNEL_CREATE", "CHANNEL_UPDATE", "CHANNEL_DELETE",
		"THREAD_CREATE", "THREAD_UPDATE", "THREAD_DELETE", "THREAD_LIST_SYNC", "THREAD_MEMBERS_UPDATE", "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE",
		"GUILD_ROLE_DELETE", "GUILD_MEMBER_UPDATE", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK",
		"MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE"}, kind)
}

// fold handles the events one by one, in order.
func (b *bot) fold() {
	defer func() {
		if b.later != nil {
			b.later.Stop()
		}
	}()
	for {
		select {
		case d := <-b.queue:
			b.handle(d)
		case <-b.again:
			b.catchUp(nil)
		case <-b.ctx.Done():
			return
		}
	}
}

func (b *bot) handle(d dispatch) {
	all := b.bots.directory
	switch d.kind {
	case "READY":
		b.begin(d)
	case "GUILD_CREATE":
		if g, ok := shape[guildShape](b, d); ok && !g.Unavailable {
			all.addGuild(&g)
			b.seat.join(&g, b.current().UserID)
			b.catchUp(b.memory.missedIn(&g))
		}
	case "GUILD_DELETE":
		if g, ok := shape[guildShape](b, d); ok && !g.Unavailable { // else it exists but is unavailable
			b.seat.leave(g.ID)
		}
	case "GUILD_UPDATE":
		if g, ok := shape[guildShape](b, d); ok {
			all.addGuild(&g)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		if c, ok := shape[channelShape](b, d); ok {
			all.addChannel(&c)
			b.seat.enter(&c)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		if c, ok := shape[channelShape](b, d); ok {
			all.remove(&c)
			b.seat.exit(c.ID)
		}
	case "THREAD_LIST_SYNC":
		if t, ok := shape[threadsShape](b, d); ok {
			all.addGuild(&guildShape{ID: t.GuildID, Threads: t.Threads})
			for i := range t.Threads {
				b.seat.enter(&t.Threads[i])
			}
		}
	case "THREAD_MEMBERS_UPDATE":
		if t, ok := shape[threadMembersShape](b, d); ok {
			b.handleThreadMembers(&t)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		if r, ok := shape[guildRoleShape](b, d); ok {
			all.addRole(r.Role)
		}
	case "GUILD_ROLE_DELETE":
		if r, ok := shape[guildRoleShape](b, d); ok {
			all.removeRole(r.RoleID)
		}
	case "GUILD_MEMBER_UPDATE":
		if m, ok := shape[guildMemberShape](b, d); ok && m.User != nil && m.User.ID == b.current().UserID {
			b.seat.rank(m.GuildID, m.Roles)
		}
	case "MESSAGE_CREATE":
		if m, ok := shape[messageShape](b, d); ok && !b.isPostponed(m.ChannelID) {
			b.message(channel.Created, &m, false)
		}
	case "MESSAGE_UPDATE":
		if m, ok := shape[messageShape](b, d); ok && m.Edited != nil { // without: a preview or a thread was added
			b.message(channel.Edited, &m, false)
		}
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		if r, ok := shape[reactionShape](b, d); ok {
			b.reacted(&r, d.kind == "MESSAGE_REACTION_REMOVE")
		}
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		if gone, ok := shape[deletedShape](b, d); ok {
			b.deleted(&gone)
		}
	}
}

// shape parses an event. A malformed one is logged without its content.
func shape[T any](b *bot, d dispatch) (v T, ok bool) {
	if err := json.Unmarshal(d.data, &v); err != nil {
		b.log.Warn("cannot parse a Discord event; skipped", "event", d.kind, "err", err)
		return v, false
	}
	return v, true
}

// begin handles a new session, in which earlier events are not repeated.
func (b *bot) begin(d dispatch) {
	r, ok := shape[readyShape](b, d)
	if !ok {
		return
	}
	b.bots.directory.addUser(&r.User)
	b.seat.begin(r.Guilds)
	var guilds []string
	for i := range r.Guilds {
		guilds = append(guilds, r.Guilds[i].ID)
	}
	b.memory.away(guilds)
	b.catchUp(b.memory.missedDirectly())
}

// handleThreadMembers handles users joining and leaving a thread.
func (b *bot) handleThreadMembers(t *threadMembersShape) {
	user := b.current().UserID
	for _, m := range t.Added {
		if m.UserID == user {
			b.seat.follow(t.ID)
		}
	}
	if slices.Contains(t.Removed, user) {
		b.seat.exit(t.ID)
	}
}

// message delivers a message that was written or edited.
func (b *bot) message(kind channel.Kind, m *messageShape, late bool) {
	if m.Author == nil || !m.written() {
		return
	}
	id, edited := snowflake(m.ID), int64(0)
	if kind == channel.Edited {
		edited = m.Edited.UnixMilli()
	}
	if id == 0 || b.memory.seen[fact{id, edited}] {
		return
	}
	b.bots.directory.addMessage(m)
	f := m.facts()
	b.locate(&f)
	if m.Member == nil && f.GuildID != "" {
		f.Author.Roles = b.bots.directory.rolesOf(f.GuildID, f.Author.ID)
	}
	if who, ours := b.bots.Registry().User(f.Author.ID); ours && !f.Author.Webhook {
		f.Author.Account, f.Author.Agent = who.AccountID, who.AgentID
	}
	if b.illegible(&f) && b.bots.reads(&f) {
		return // delivered by a bot that may read it
	}
	if !b.deliver(channel.Inbound{Kind: kind, Missed: late, Message: f}) {
		return
	}
	b.memory.recordDelivered(fact{id, edited})
	if kind == channel.Created {
		b.memory.recordMessage(f.GuildID, f.ChannelID, id)
		b.bots.recordMessage(f.GuildID, f.ChannelID, id)
	}
	if late {
		b.status.Update(func(s *health.Bot) { s.Fetched++ })
	}
}

// illegible reports whether Discord may have hidden a message's content, because the bot lacks the intent.
func (b *bot) illegible(f *channel.Message) bool {
	return f.GuildID != "" && f.Content == "" && len(f.Attachments) == 0 && b.current().Missing != ""
}

func (b *bot) deleted(gone *deletedShape) {
	ids := gone.IDs
	if gone.ID != "" {
		ids = append(ids, gone.ID)
	}
	for _, id := range ids {
		once := fact{snowflake(id), -1}
		if b.memory.seen[once] {
			continue
		}
		f := channel.Message{ID: id, ChannelID: gone.ChannelID, GuildID: gone.GuildID, At: madeAt(snowflake(id))}
		b.locate(&f)
		if b.deliver(channel.Inbound{Kind: channel.Deleted, Message: f}) {
			b.memory.recordDelivered(once)
		}
	}
}

// deliver delivers a fact; false if the bot ends before it is accepted.
func (b *bot) deliver(in channel.Inbound) bool {
	in.AccountID, in.BotID = b.account, b.current().UserID
	select {
	case b.bots.inbound <- in:
		return true
	case <-b.ctx.Done():
		return false
	}
}

// locate determines whether a message is in a thread, and its parent. An unknown place, e.g. a thread that was
// archived when the bot connected, is requested from Discord.
func (b *bot) locate(f *channel.Message) {
	if f.GuildID == "" {
		return
	}
	p, known := b.bots.directory.place(f.ChannelID)
	if !known {
		if a, refused := b.ask(b.ctx, "request a channel", f.ChannelID, request{method: http.MethodGet, path: "/channels/" + f.ChannelID}); refused == nil {
			if c, ok := shape[channelShape](b, dispatch{"channel", a.body}); ok {
				b.bots.directory.addChannel(&c)
				p = c.place()
			}
		}
	}
	if p.Kind == collaborate.Thread {
		f.ParentID, f.ThreadName = p.ParentID, p.Name
		if b.bots.directory.typeOf(f.ChannelID) == typePrivateThread {
			b.seat.follow(f.ChannelID) // the bot sees the places it receives events from
		}
	}
}
