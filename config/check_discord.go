package config

import (
	"fmt"
	"strings"
)

// snowflake reads a Discord id. An invalid one is reported but kept, since only Discord knows which ids exist.
func (f *fields) snowflake(key string) string {
	id := f.id(key)
	if id == "" || isSnowflake(id) {
		return id
	}
	v := f.object.get(key)
	one := warning(CodeValue, v.at, f.at.member(key), v.shown()+" is not a Discord id", "write 17 to 20 digits: Copy ID in Discord's developer mode")
	one.Value = v.shown()
	f.report.add(one)
	return id
}

// checkCollaboration warns if agents may ask each other in threads but no channel for threads is configured.
func (d *Channel) checkCollaboration(discord *fields) {
	bots := 0
	for _, a := range d.Accounts {
		if a.Enabled && a.Token != "" {
			bots++
		}
	}
	if !d.Enabled || bots < 2 || d.Collaboration.DefaultChannel != "" {
		return
	}
	at := discord.at.member("collaboration").member("defaultChannel")
	if discord.object.get("collaboration").get("defaultChannel") != nil {
		return // already reported
	}
	discord.report.add(warning(CodeValue, discord.object.at, at,
		"no channel for threads is configured: agents can ask each other only in reply to a request in a channel listed in allowedChannels",
		"set it to the id of a channel in which the bots may write"))
}

// reporter is the default account for reports: the one called ruda, else the first enabled one; "" if there is none.
func (d *Channel) reporter() string {
	first := ""
	for _, a := range d.Accounts {
		switch {
		case !a.Enabled:
		case strings.EqualFold(a.ID, "ruda"):
			return a.ID
		case first == "":
			first = a.ID
		}
	}
	return first
}

// checkAccountNames reports settings that name a Discord account which does not exist, if any are configured.
func (c *Config) checkAccountNames(root *fields) {
	if len(c.Discord.Accounts) == 0 {
		return
	}
	names := &accountNames{report: root.report, known: map[string]bool{DefaultAccount: true}}
	for _, a := range c.Discord.Accounts {
		names.known[strings.ToLower(a.ID)] = true
		names.ids = append(names.ids, a.ID)
	}
	discord := root.at.member("channels").member("discord")
	names.check(root.object.get("channels").get("discord").get("defaultAccount"), discord.member("defaultAccount"))
	if bindings := root.object.get("bindings"); bindings != nil {
		for i, item := range bindings.items {
			match := item.get("match")
			if channel := match.get("channel"); channel != nil && strings.EqualFold(channel.text, "discord") {
				names.check(match.get("accountId"), root.at.member("bindings").item(i).member("match").member("accountId"))
			}
		}
	}
	if sinks := root.object.get("gateway").get("conversationSinks"); sinks != nil {
		for i, item := range sinks.items {
			if id := item.get("id"); id == nil || id.text != SinkOfDiscord {
				continue
			}
			at := root.at.member("gateway").member("conversationSinks").item(i).member("options")
			for _, key := range []string{"routerAccountId", "messageAccountId"} {
				names.check(item.get("options").get(key), at.member(key))
			}
		}
	}
}

type accountNames struct {
	report *report
	ids    []string
	known  map[string]bool // in lower case
}

func (n *accountNames) check(v *value, at *path) {
	if v == nil || v.kind != text || v.text == "" || v.text == "*" || n.known[strings.ToLower(v.text)] {
		return
	}
	hint := "add it to channels.discord.accounts, or name another one"
	if !n.report.isFull(CodeNoAccount) {
		if near := nearest(v.text, n.ids); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
	one := warning(CodeNoAccount, v.at, at, v.shown()+" is not a configured Discord account", hint)
	one.Value = v.shown()
	n.report.add(one)
}

// checkMisplaced reports settings in places where other documentation has put them, but where they are not read.
func checkMisplaced(root *fields) {
	discord := root.object.get("discord")
	if v := discord.get("collaboration"); v != nil {
		root.report.add(warning(CodeValue, v.at, root.at.member("discord").member("collaboration"), "openclawd does not read this here: it has no effect",
			"put it into channels.discord.collaboration"))
	} else if discord != nil {
		root.report.add(warning(CodeValue, discord.at, root.at.member("discord"), "openclawd does not read this here: it has no effect",
			"put it into channels.discord"))
	}
	if v := root.object.get("routing").get("agents"); v != nil && v.holdsObjects() {
		root.report.add(dropped(v.at, root.at.member("routing").member("agents"), "agents are not read from here: they would be ignored",
			"move them to agents.entries"))
	}
}
