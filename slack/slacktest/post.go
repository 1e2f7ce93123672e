package slacktest

import (
	"regexp"
	"slices"
)

// write posts a message. author has what a message says about its author. The lock is held.
func (s *Server) write(v *conversation, author Message, d draft) (*message, *Error) {
	m := &message{in: v, Message: author, broadcast: d.also && d.threadTS != ""}
	m.Type, m.Text, m.TS, m.Team = "message", d.text, s.stamp(), TeamID
	m.Blocks, m.Attachments, m.Metadata = d.blocks, d.attached, d.metadata
	var root *message
	if d.threadTS != "" {
		root = v.message(d.threadTS)
		switch {
		case root == nil:
			return nil, refuse("thread_not_found")
		case root.ThreadTS != "" && root.ThreadTS != root.TS:
			return nil, refuse("cannot_reply_to_message")
		}
		m.ThreadTS, m.ParentUser = root.TS, root.User
	}
	if m.broadcast {
		m.Subtype = "thread_broadcast"
		first := root.Message
		m.Root = &first
	}
	v.messages = append(v.messages, m)
	if root != nil {
		v.count(root)
	}
	s.tellMessage(m)
	s.happened()
	return m, nil
}

// messageEvent is a new message as events tell it.
type messageEvent struct {
	Message
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"`
	EventTS     string `json:"event_ts"`
}

// changeEvent tells that a message was edited or deleted.
type changeEvent struct {
	Type        string   `json:"type"`
	Subtype     string   `json:"subtype"`
	Hidden      bool     `json:"hidden"`
	Message     *Message `json:"message,omitempty"`
	Previous    *Message `json:"previous_message,omitempty"`
	DeletedTS   string   `json:"deleted_ts,omitempty"`
	Channel     string   `json:"channel"`
	ChannelType string   `json:"channel_type"`
	TS          string   `json:"ts"`
	EventTS     string   `json:"event_ts"`
}

var mentioned = regexp.MustCompile(`<@([A-Z0-9]+)(?:\|[^>]*)?>`)

// tellMessage tells the apps of a new message, and those that it mentions once more.
func (s *Server) tellMessage(m *message) {
	v := m.in
	e := messageEvent{Message: m.Message, Channel: v.id, ChannelType: v.kind, EventTS: m.TS}
	e.Metadata, e.ReplyCount, e.ReplyUsers, e.LatestReply = nil, 0, nil, ""
	s.tell(v, v.subscription(), m.User, e)
	if v.kind == Direct || m.Subtype != "" && m.Subtype != "file_share" && m.Subtype != "thread_broadcast" {
		return
	}
	for _, called := range mentioned.FindAllStringSubmatch(m.Text, -1) {
		a := s.appOf(called[1])
		if a == nil || a.user == m.User || !v.has(a.user) || !slices.Contains(a.events, "app_mention") || !a.may("app_mentions:read") {
			continue
		}
		mention := e
		mention.Type, mention.Subtype, mention.ChannelType = "app_mention", "", ""
		s.event(a, mention)
	}
}

// tell tells every app in a conversation that has subscribed to an event. by is the user who caused it.
func (s *Server) tell(v *conversation, subscription, by string, event any) {
	for _, a := range s.apps {
		if v.has(a.user) && slices.Contains(a.events, subscription) && a.may(scopeOf(v, subscription)) && !(s.o.NoOwnPosts && by == a.user) {
			s.event(a, event)
		}
	}
}

// scopeOf is the right that a subscription needs.
func scopeOf(v *conversation, subscription string) string {
	switch subscription {
	case "reaction_added":
		return "reactions:read"
	case "member_joined_channel":
		return v.scopePrefix() + ":read"
	}
	return v.scopePrefix() + ":history"
}

// change edits a message. The lock is held.
func (s *Server) change(m *message, by string, how func()) {
	before := m.Message
	how()
	m.Edited = &Edited{User: by, TS: s.stamp()}
	now := m.Message
	now.Metadata, before.Metadata = nil, nil
	s.tell(m.in, m.in.subscription(), m.User, changeEvent{Type: "message", Subtype: "message_changed", Hidden: true, Message: &now, Previous: &before,
		Channel: m.in.id, ChannelType: m.in.kind, TS: m.Edited.TS, EventTS: m.Edited.TS})
	s.happened()
}

// remove deletes a message. The lock is held.
func (s *Server) remove(m *message) {
	v := m.in
	v.messages = slices.DeleteFunc(v.messages, func(other *message) bool { return other == m })
	if root := v.message(m.ThreadTS); root != nil {
		v.count(root)
	}
	before, at := m.Message, s.stamp()
	before.Metadata = nil
	s.tell(v, v.subscription(), m.User, changeEvent{Type: "message", Subtype: "message_deleted", Hidden: true, Previous: &before, DeletedTS: m.TS,
		Channel: v.id, ChannelType: v.kind, TS: at, EventTS: at})
	s.happened()
}

// react adds a user's reaction. The lock is held.
func (s *Server) react(m *message, user, name string) *Error {
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Name == name })
	switch {
	case name == "":
		return refuse("invalid_name")
	case i < 0:
		m.Reactions = append(m.Reactions, Reaction{Name: name, Users: []string{user}, Count: 1})
	case slices.Contains(m.Reactions[i].Users, user):
		return refuse("already_reacted")
	default:
		m.Reactions[i].Users = append(slices.Clone(m.Reactions[i].Users), user)
		m.Reactions[i].Count++
	}
	s.tell(m.in, "reaction_added", user, map[string]any{"type": "reaction_added", "user": user, "reaction": name, "item_user": m.User,
		"item": map[string]any{"type": "message", "channel": m.in.id, "ts": m.TS}, "event_ts": s.stamp()})
	s.happened()
	return nil
}

// unreact removes a user's reaction. The lock is held.
func (s *Server) unreact(m *message, user, name string) *Error {
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Name == name && slices.Contains(r.Users, user) })
	if i < 0 {
		return refuse("no_reaction")
	}
	all := slices.Clone(m.Reactions)
	all[i].Users = slices.DeleteFunc(slices.Clone(all[i].Users), func(u string) bool { return u == user })
	if all[i].Count--; all[i].Count == 0 {
		all = slices.Delete(all, i, i+1)
	}
	m.Reactions = all
	s.happened()
	return nil
}

// join makes a user a member, and tells it as a message of the channel. The lock is held.
func (s *Server) join(v *conversation, user, inviter string) {
	if v.has(user) {
		return
	}
	v.members = append(v.members, user)
	s.tell(v, "member_joined_channel", "", map[string]any{"type": "member_joined_channel", "user": user, "channel": v.id, "channel_type": "C",
		"team": TeamID, "inviter": inviter, "event_ts": s.stamp()})
	_, _ = s.write(v, Message{Subtype: "channel_join", User: user, Inviter: inviter}, draft{text: "<@" + user + "> has joined the channel"}) // not in a thread
}
