package discordtest

import "slices"

type guild struct {
	info GuildInfo
}

func (g *guild) member(userID string) *Member {
	i := slices.IndexFunc(g.info.Members, func(m Member) bool { return m.User.ID == userID })
	if i < 0 {
		return nil
	}
	return &g.info.Members[i]
}

// permissions are a member's permissions in the guild, before overwrites.
func (g *guild) permissions(m *Member) (p Permission) {
	for _, r := range g.info.Roles {
		if r.ID == g.info.ID || slices.Contains(m.Roles, r.ID) {
			p |= r.Permissions
		}
	}
	return p
}

// Guild is a Discord server.
type Guild struct {
	ID  string
	s   *Server
	own *guild
}

// AddGuild creates a guild owned by a user outside of the test.
func (s *Server) AddGuild(name string) *Guild {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &guild{info: GuildInfo{ID: s.next(), Name: name, OwnerID: s.next()}}
	g.info.Roles = []Role{{ID: g.info.ID, Name: "@everyone", Permissions: Everyone}}
	s.guilds[g.info.ID] = g
	return &Guild{ID: g.info.ID, s: s, own: g}
}

// Join adds users. Connected bots among them receive GUILD_CREATE, others GUILD_MEMBER_ADD, subject to intents.
func (g *Guild) Join(userIDs ...string) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	for _, id := range userIDs {
		a := g.s.accounts[id]
		if a == nil || g.own.member(id) != nil {
			continue
		}
		user := a.User
		m := Member{User: &user, Roles: []string{}, JoinedAt: stamp(g.s.now())}
		g.own.info.Members = append(g.own.info.Members, m)
		g.s.publish(event{"GUILD_MEMBER_ADD", intentMembers, nil}, func(to *gatewaySession) any {
			if g.own.member(to.bot.ID) == nil || to.bot == a {
				return nil
			}
			return memberOf{Member: m, GuildID: g.ID}
		})
		g.s.publish(event{"GUILD_CREATE", intentGuilds, nil}, func(to *gatewaySession) any {
			if to.bot != a {
				return nil
			}
			return g.s.guildFor(g.own, a)
		})
	}
	g.s.happened()
}

type memberOf struct {
	Member
	GuildID string `json:"guild_id"`
}

// Leave removes users. Bots among them receive GUILD_DELETE.
func (g *Guild) Leave(userIDs ...string) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	for _, id := range userIDs {
		g.own.info.Members = slices.DeleteFunc(g.own.info.Members, func(m Member) bool { return m.User.ID == id })
		g.s.publish(event{"GUILD_DELETE", intentGuilds, nil}, func(to *gatewaySession) any {
			if to.bot.ID != id {
				return nil
			}
			return gone{ID: g.ID}
		})
	}
	g.s.happened()
}

type gone struct {
	ID       string `json:"id"`
	GuildID  string `json:"guild_id,omitempty"`
	ParentID string `json:"parent_id,omitempty"`
	Type     int    `json:"type,omitempty"`
}

// guildFor is a guild as one bot sees it.
func (s *Server) guildFor(g *guild, a *account) GuildInfo {
	info := g.info
	info.Members, info.Roles, info.MemberCount = slices.Clone(g.info.Members), slices.Clone(g.info.Roles), len(g.info.Members)
	info.Channels, info.Threads = []Channel{}, []Channel{}
	if m := g.member(a.ID); m != nil {
		info.JoinedAt = m.JoinedAt
	}
	for _, c := range s.channelsOf(g) {
		if !s.may(a, c).has(ViewChannel) {
			continue
		}
		if !c.IsThread() {
			info.Channels = append(info.Channels, c.public())
		} else if !c.Thread.Archived {
			info.Threads = append(info.Threads, c.visibleTo(a))
		}
	}
	return info
}

func (s *Server) guildRoutes() []route {
	return []route{
		{name: "GET /guilds/{guild}", do: func(c *call) (any, *Error) {
			g, refusal := s.guildOf(c)
			if refusal != nil {
				return nil, refusal
			}
			info := g.info
			info.Members = nil
			return info, nil
		}},
		{name: "GET /guilds/{guild}/channels", do: s.listChannels},
		{name: "POST /guilds/{guild}/channels", do: s.createChannel},
		{name: "GET /guilds/{guild}/roles", do: func(c *call) (any, *Error) {
			g, refusal := s.guildOf(c)
			if refusal != nil {
				return nil, refusal
			}
			return g.info.Roles, nil
		}},
		{name: "GET /guilds/{guild}/members", do: s.listMembers},
		{name: "GET /guilds/{guild}/members/{user}", do: func(c *call) (any, *Error) {
			g, refusal := s.guildOf(c)
			if refusal != nil {
				return nil, refusal
			}
			if m := g.member(userIn(c)); m != nil {
				return *m, nil
			}
			return nil, notFound(CodeUnknownMember, "Member")
		}},
		{name: "GET /guilds/{guild}/threads/active", do: func(c *call) (any, *Error) {
			g, refusal := s.guildOf(c)
			if refusal != nil {
				return nil, refusal
			}
			return s.threadList(c.by, func(t *channel) bool { return t.guild == g && !t.Thread.Archived }, 0), nil
		}},
	}
}

// guildOf returns the guild in the path, if the bot is a member.
func (s *Server) guildOf(c *call) (*guild, *Error) {
	g := s.guilds[c.path("guild")]
	if g == nil {
		return nil, notFound(CodeUnknownGuild, "Guild")
	}
	if g.member(c.by.ID) == nil {
		return nil, missingAccess()
	}
	return g, nil
}

// userIn is the user in the path; @me is the bot itself.
func userIn(c *call) string {
	if id := c.path("user"); id != "@me" {
		return id
	}
	return c.by.ID
}

func (s *Server) listMembers(c *call) (any, *Error) {
	g, refusal := s.guildOf(c)
	if refusal != nil {
		return nil, refusal
	}
	if !c.by.members {
		return nil, missingAccess()
	}
	limit, refusal := limitIn(c, 1, 1000, 1)
	if refusal != nil {
		return nil, refusal
	}
	after := c.query("after")
	members := []Member{}
	for _, m := range g.info.Members { // in order of joining; ids ascend with it unless a user joined late
		if after == "" || older(after, m.User.ID) {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(a, b Member) int {
		if older(a.User.ID, b.User.ID) {
			return -1
		}
		return 1
	})
	return members[:min(limit, len(members))], nil
}
