package slacktest

import (
	"slices"
	"strings"
)

type conversation struct {
	id, name, kind string
	created        int64
	archived       bool
	members        []string   // users
	messages       []*message // of threads too, oldest first
}

type message struct {
	Message
	in        *conversation
	broadcast bool
}

// prefixes of ids, by the kind of the conversation.
var prefixes = map[string]string{Public: "C", Private: "C", Direct: "D", Group: "C"}

// AddChannel creates a public channel with members: ids of people and of bot users.
func (s *Server) AddChannel(name string, members ...string) Channel {
	return s.add(Public, name, members)
}

// AddPrivateChannel creates a private channel.
func (s *Server) AddPrivateChannel(name string, members ...string) Channel {
	return s.add(Private, name, members)
}

func (s *Server) add(kind, name string, members []string) Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.create(kind, name, members).public("")
}

func (s *Server) create(kind, name string, members []string) *conversation {
	c := &conversation{id: s.id(prefixes[kind]), name: name, kind: kind, created: s.o.Now().Unix(), members: slices.Clone(members)}
	s.conversations[c.id] = c
	s.listed = append(s.listed, c)
	s.happened()
	return c
}

// open returns the direct or group conversation of users, creating it if there is none.
func (s *Server) open(users []string) *conversation {
	users = slices.Clone(users)
	slices.Sort(users)
	users = slices.Compact(users)
	kind, name := Direct, ""
	if len(users) > 2 {
		kind, name = Group, "mpdm"
		for _, u := range users {
			name += "-" + s.users[u].Name
		}
	}
	for _, c := range s.listed {
		if c.kind == kind && slices.Equal(c.members, users) {
			return c
		}
	}
	return s.create(kind, name, users)
}

// Archive archives a channel, or takes it out of the archive.
func (s *Server) Archive(channelID string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations[channelID].archived = archived
}

// Remove ends a user's membership.
func (s *Server) Remove(channelID, userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[channelID]
	c.members = slices.DeleteFunc(c.members, func(u string) bool { return u == userID })
}

func (c *conversation) has(user string) bool { return slices.Contains(c.members, user) }

// public is the conversation as a user sees it.
func (c *conversation) public(user string) Channel {
	p := Channel{ID: c.id, Name: c.name, NameNorm: c.name, Created: c.created, IsChannel: c.kind == Public || c.kind == Private,
		IsGroup: c.kind == Private, IsIM: c.kind == Direct, IsMPIM: c.kind == Group, IsPrivate: c.kind != Public, IsArchived: c.archived,
		IsMember: c.has(user), ContextTeamID: TeamID, NumMembers: len(c.members)}
	if c.kind == Direct {
		for _, m := range c.members {
			if m != user {
				p.User = m
			}
		}
	}
	return p
}

// scopePrefix is how scopes name a kind of conversations.
func (c *conversation) scopePrefix() string {
	return map[string]string{Public: "channels", Private: "groups", Direct: "im", Group: "mpim"}[c.kind]
}

// subscription is the event that tells of messages there.
func (c *conversation) subscription() string { return "message." + c.scopePrefix() }

func (c *conversation) message(ts string) *message {
	for _, m := range c.messages {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

// replies are the messages of a thread after its first one, oldest first.
func (c *conversation) replies(root string) (all []*message) {
	for _, m := range c.messages {
		if m.ThreadTS == root && m.TS != root {
			all = append(all, m)
		}
	}
	return all
}

// count updates what a thread's first message says about its replies.
func (c *conversation) count(root *message) {
	all := c.replies(root.TS)
	root.ReplyCount, root.ReplyUsers, root.LatestReply, root.ThreadTS = len(all), nil, "", ""
	if len(all) == 0 {
		return
	}
	root.ThreadTS, root.LatestReply = root.TS, all[len(all)-1].TS
	for _, m := range all {
		if !slices.Contains(root.ReplyUsers, m.User) {
			root.ReplyUsers = append(root.ReplyUsers, m.User)
		}
	}
}

// isID reports whether a text looks like an id of a conversation.
func isID(text string) bool {
	return strings.HasPrefix(text, "C") || strings.HasPrefix(text, "D") || strings.HasPrefix(text, "G")
}
