package config

import (
	"cmp"
	"slices"
)

// Keys for servers, and channels, that are not listed themselves.
const (
	everyGuild   = "*"
	everyChannel = "*"
)

// decodeGuilds reads the servers. One with a name instead of an id is ignored, since it is ambiguous.
func (d *Channel) decodeGuilds(discord *fields) {
	discord.named("guilds", func(id string, f *fields) {
		g := Guild{ID: id, Users: f.ids("users"), Roles: f.ids("roles"), Channels: f.channels("channels")}
		if required := f.flag("requireMention", false); f.object.get("requireMention") != nil {
			g.RequireMention = &required
		}
		f.others("slug", "ignoreOtherMentions", "tools", "toolsBySender", "reactionNotifications", "presenceEvents", "botLoopProtection")
		f.done()
		switch {
		case f.object == nil: // already reported
		case id == everyGuild:
			f.report.add(warning(CodeValue, f.object.at, f.at, "openclawd does not support settings for all servers: they have no effect",
				"list each server by its id"))
		case !isSnowflake(id):
			f.report.add(warning(CodeValue, f.object.at, f.at, "this is not a server id: it has no effect",
				"use the server's id, 17 to 20 digits: Copy Server ID in Discord's developer mode"))
		default:
			d.Guilds = append(d.Guilds, g)
		}
	})
	slices.SortFunc(d.Guilds, func(a, b Guild) int { return cmp.Compare(a.ID, b.ID) })
}

// channels reads a server's allowed channels: a list of ids, or an object of settings by id, of which allow and
// enabled are used. If all listed ones are forbidden, none is allowed.
func (f *fields) channels(key string) []string {
	c := channels{report: f.report, at: f.at.member(key)}
	if v := f.object.get(key); v != nil && v.kind == list {
		for _, id := range f.ids(key) {
			c.add(id, true, v.at)
		}
		return c.allowedList()
	}
	f.named(key, func(id string, channel *fields) {
		allow, enabled := channel.flag("allow", true), channel.flag("enabled", true)
		channel.knows("requireMention", "users", "roles")
		channel.others("ignoreOtherMentions", "tools", "toolsBySender", "skills", "systemPrompt", "includeThreadStarter", "autoThread", "autoThreadName", "autoArchiveDuration")
		channel.done()
		for _, narrows := range []string{"requireMention", "users", "roles"} {
			if v := channel.object.get(narrows); v != nil {
				f.report.add(warning(CodeValue, v.at, channel.at.member(narrows), "openclawd does not support this for one channel: it has no effect",
					"set it for the server"))
			}
		}
		if channel.object != nil { // else already reported
			c.add(id, allow && enabled, channel.object.at)
		}
	})
	f.schema.member(key).is("object", "array")
	return c.allowedList()
}

type channels struct {
	report    *report
	at        *path
	allowed   []string
	forbidden []listedChannel
	every     bool // unlisted ones are allowed too
	otherwise bool // unlisted ones are not allowed
}

type listedChannel struct {
	id string
	at position
}

func (c *channels) add(id string, allowed bool, at position) {
	switch {
	case id == everyChannel:
		c.every, c.otherwise = allowed, !allowed
	case !isSnowflake(id):
		c.otherwise = true
		c.report.add(warning(CodeValue, at, c.at.member(id), "this is not a channel id: it has no effect",
			"use the channel's id, 17 to 20 digits: Copy Channel ID in Discord's developer mode"))
	case allowed:
		c.allowed = append(c.allowed, id)
	default:
		c.forbidden = append(c.forbidden, listedChannel{id, at})
	}
}

// allowedList returns the allowed channels; none means all.
func (c *channels) allowedList() []string {
	slices.Sort(c.allowed)
	switch {
	case c.every:
		for _, l := range c.forbidden {
			c.report.add(warning(CodeValue, l.at, c.at.member(l.id), "all channels are allowed: a single one cannot be excluded",
				"list the allowed channels instead of *"))
		}
		return nil
	case len(c.allowed) == 0 && (c.otherwise || len(c.forbidden) > 0):
		return []string{NoChannel}
	}
	return slices.Compact(c.allowed)
}
