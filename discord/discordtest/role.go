package discordtest

import "slices"

// roleOf is the data of GUILD_ROLE_CREATE and GUILD_ROLE_UPDATE.
type roleOf struct {
	GuildID string `json:"guild_id"`
	Role    Role   `json:"role"`
}

// roleGone is the data of GUILD_ROLE_DELETE.
type roleGone struct {
	GuildID string `json:"guild_id"`
	RoleID  string `json:"role_id"`
}

// Grant gives a member its own role with the permissions, and returns the role's id; "" if there is no such member.
// Bots receive GUILD_ROLE_CREATE, and the member, if a bot, GUILD_MEMBER_UPDATE.
func (g *Guild) Grant(userID string, p Permission) string {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	m := g.own.member(userID)
	if m == nil {
		return ""
	}
	r := Role{ID: g.s.next(), Name: m.User.Username, Permissions: p, Position: len(g.own.info.Roles), Managed: m.User.Bot, Mentionable: true}
	g.own.info.Roles = append(g.own.info.Roles, r)
	m.Roles = append(slices.Clone(m.Roles), r.ID)
	g.sendRole("GUILD_ROLE_CREATE", r)
	g.sendMember(m)
	g.s.happened()
	return r.ID
}

// SetRole changes a role's permissions; everyone's role has the guild's id. Bots receive GUILD_ROLE_UPDATE. An unknown
// role is ignored.
func (g *Guild) SetRole(roleID string, p Permission) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	i := slices.IndexFunc(g.own.info.Roles, func(r Role) bool { return r.ID == roleID })
	if i < 0 {
		return
	}
	g.own.info.Roles[i].Permissions = p
	g.sendRole("GUILD_ROLE_UPDATE", g.own.info.Roles[i])
	g.s.happened()
}

// Revoke removes a role from a member, who receives GUILD_MEMBER_UPDATE if it is a bot.
func (g *Guild) Revoke(userID, roleID string) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if m := g.own.member(userID); m != nil && slices.Contains(m.Roles, roleID) {
		m.Roles = slices.DeleteFunc(slices.Clone(m.Roles), func(id string) bool { return id == roleID })
		g.sendMember(m)
		g.s.happened()
	}
}

// DeleteRole deletes a role. Bots receive GUILD_ROLE_DELETE, and no event about the members who had it.
func (g *Guild) DeleteRole(roleID string) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	g.own.info.Roles = slices.DeleteFunc(g.own.info.Roles, func(r Role) bool { return r.ID == roleID })
	for i := range g.own.info.Members {
		m := &g.own.info.Members[i]
		m.Roles = slices.DeleteFunc(slices.Clone(m.Roles), func(id string) bool { return id == roleID })
	}
	g.s.publish(event{"GUILD_ROLE_DELETE", intentGuilds, nil}, func(to *gatewaySession) any {
		if g.own.member(to.bot.ID) == nil {
			return nil
		}
		return roleGone{g.ID, roleID}
	})
	g.s.happened()
}

func (g *Guild) sendRole(kind string, r Role) {
	g.s.publish(event{kind, intentGuilds, nil}, func(to *gatewaySession) any {
		if g.own.member(to.bot.ID) == nil {
			return nil
		}
		return roleOf{g.ID, r}
	})
}

// sendMember sends GUILD_MEMBER_UPDATE: to the bot itself, and to others with the members intent.
func (g *Guild) sendMember(m *Member) {
	told := memberOf{Member: *m, GuildID: g.ID}
	g.s.publish(event{"GUILD_MEMBER_UPDATE", 0, nil}, func(to *gatewaySession) any {
		if to.bot.ID != m.User.ID && (to.intents&intentMembers == 0 || g.own.member(to.bot.ID) == nil) {
			return nil
		}
		return told
	})
}
