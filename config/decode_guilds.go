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
func decodeGuilds(discord *fields) (all []Guild) {
	discord.named("guilds", func(id string, f *fields) {
		g := Guild{ID: id, Users: f.ids("users"), Roles: f.ids("roles"), RequireMention: f.optionalFlag("requireMention")}
		g.Channels, g.Rooms = f.channels("channels")
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
			all = append(all, g)
		}
	})
	slices.SortFunc(all, func(a, b Guild) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// channels reads a server's allowed channels, and those with settings of their own: a list of ids, or an object of
// settings by id. If all listed ones are forbidden, none is allowed.
func (f *fields) channels(key string) ([]string, []Room) {
	c := channels{report: f.report, at: f.at.member(key)}
	if v := f.object.get(key); v != nil && v.kind == list {
		for _, id := range f.ids(key) {
			c.add(&Room{ID: id}, v.at)
		}
		return c.allowedList()
	}
	f.named(key, func(id string, channel *fields) {
		room := Room{ID: id, Closed: !channel.flag("allow", true) || !channel.flag("enabled", true), Users: channel.ids("users"), Roles: channel.ids("roles"),
			RequireMention: channel.optionalFlag("requireMention")}
		channel.others("ignoreOtherMentions", "tools", "toolsBySender", "skills", "systemPrompt", "includeThreadStarter", "autoThread", "autoThreadName", "autoArchiveDuration")
		channel.done()
		if channel.object != nil { // else already reported
			c.add(&room, channel.object.at)
		}
	})
	f.schema.member(key).is("object", "array")
	return c.allowedList()
}

type channels struct {
	report    *report
	at        *path
	rooms     []Room // with settings of their own
	allowed   []string
	forbidden bool // a listed one is
	every     bool // unlisted ones are allowed too
	otherwise bool // unlisted ones are not allowed
}

func (c *channels) add(room *Room, at position) {
	switch {
	case room.ID == everyChannel:
		c.every, c.otherwise = !room.Closed, room.Closed
	case !isSnowflake(room.ID):
		c.otherwise = true
		c.report.add(warning(CodeValue, at, c.at.member(room.ID), "this is not a channel id: it has no effect",
			"use the channel's id, 17 to 20 digits: Copy Channel ID in Discord's developer mode"))
		return
	case room.Closed:
		c.forbidden = true
	default:
		c.allowed = append(c.allowed, room.ID)
	}
	if room.isSet() && (room.ID != everyChannel || !room.Closed) {
		c.rooms = append(c.rooms, *room)
	}
}

// allowedList returns the allowed channels; none means all.
func (c *channels) allowedList() ([]string, []Room) {
	slices.Sort(c.allowed)
	sortRooms(c.rooms)
	switch {
	case c.every:
		return nil, c.rooms
	case len(c.allowed) == 0 && (c.otherwise || c.forbidden):
		return []string{NoChannel}, c.rooms
	}
	return slices.Compact(c.allowed), c.rooms
}
