package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// decodeSlack reads channels.slack. Channels are those of all workspaces, by their ids in the log: slack:c0123456789.
func (c *Config) decodeSlack(f *fields) {
	d := &c.Slack
	d.decodeSlackAccounts(f)
	d.AllowBots, d.HistoryIncludeBots = allowBots(f), f.flag("historyIncludeBots", false)
	d.HistoryLimit = f.count("historyLimit", 20, 0, maxCount)
	d.MaxMedia = f.megabytes("mediaMaxMb", defaultMediaMB)
	d.RequireMention = f.flag("requireMention", false)
	d.Access = decodeSlackAccess(f)
	d.decodeMentions(f)
	d.DefaultAccount = f.text("defaultAccount", "")
	ids := chatIDs{channel: slackPlaceID, place: slackPlaceID, user: (*fields).id}
	d.Collaboration = decodeCollaboration(f.within("collaboration"), ids)
	for _, all := range [][]string{d.Collaboration.AllowedChannels, d.Collaboration.AllowedGuilds} {
		for i := range all {
			all[i] = cmp.Or(slackPlace(all[i]), all[i])
		}
	}
	d.Retry = decodeRetry(f.within("a2aRetry"), ids)
	f.others(slackKeys()...)
	f.aside(slackLooks()...)
	f.done()
}

// decodeSlackAccounts reads the apps: the one with its token directly in channels.slack, and those of accounts.
func (d *Channel) decodeSlackAccounts(slack *fields) {
	own := decodeSlackAccount(slack, DefaultAccount)
	d.Enabled = own.Enabled
	slack.named("accounts", func(id string, f *fields) {
		a := decodeSlackAccount(f, id)
		a.MaxMedia, a.Own = f.megabytes("mediaMaxMb", 0), ownAccess(slack, f, slackAccess, decodeSlackAccess)
		d.Accounts = append(d.Accounts, a)
		f.others(slackKeys()...)
		f.aside(slackLooks()...)
		f.others("allowBots", "historyIncludeBots", "historyLimit", "requireMention", "collaboration", "a2aRetry")
		f.done()
	})
	slices.SortFunc(d.Accounts, func(a, b Account) int { return cmp.Compare(a.ID, b.ID) })
	if own.Token != "" {
		d.Accounts = append([]Account{own}, d.Accounts...)
	}
}

func decodeSlackAccount(f *fields, id string) Account {
	a := Account{ID: id, Name: f.text("name", ""), Enabled: f.flag("enabled", true), Token: f.slackToken("botToken", "xoxb-", "OAuth & Permissions"),
		AppToken: f.slackToken("appToken", "xapp-", "Basic Information")}
	mode, secret, path := f.choice("mode", "socket", "http"), f.secret("signingSecret"), f.text("webhookPath", "/slack/events")
	if mode == "http" {
		a.Webhook, a.AppToken = Webhook{Secret: secret, Path: path}, ""
	}
	needs := func(missing bool, key, why, hint string) {
		if missing && a.Token != "" && a.Enabled {
			f.report.add(warning(CodeValue, f.object.at, f.at.member(key), why, hint))
		}
	}
	needs(mode == "socket" && a.AppToken == "", "appToken", "without an app token no events of Slack arrive",
		"create one with the scope connections:write on the page Basic Information of the app, or set mode to http")
	needs(mode == "http" && secret == "", "signingSecret", "without the signing secret no events of Slack are accepted",
		"copy it from the page Basic Information of the app")
	needs(mode == "http" && !strings.HasPrefix(path, "/"), "webhookPath", "the path does not begin with /", "write it like /slack/events")
	return a
}

// slackToken reads a token, which begins with what says its kind.
func (f *fields) slackToken(key, prefix, page string) Secret {
	token := f.secret(key)
	if token != "" && !strings.HasPrefix(token.Reveal(), prefix) {
		f.report.add(warning(CodeToken, f.get(key).at, f.at.member(key), "this does not look like such a token of Slack",
			"copy the one that begins with "+prefix+" from the page "+page+" of the app"))
	}
	return token
}

// slackUsers reads ids of users: U0123456789, slack:U0123456789, user:U0123456789.
func (f *fields) slackUsers(key string) (all []string) {
	for _, id := range f.ids(key) {
		id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(id), coordination.Slack+":"), "user:")
		if id = strings.ToUpper(id); id != everyone && !isSlackID(id, "UW") {
			f.report.add(warning(CodeValue, f.get(key).at, f.at.member(key), strconv.Quote(Shown(id))+" is not a user id of Slack: it has no effect",
				"write the member's id: Copy member ID in the person's profile"))
			continue
		}
		all = append(all, id)
	}
	return all
}

// isSlackID reports whether an id begins with one of some letters, as ids of Slack say what they are of.
func isSlackID(id, kinds string) bool {
	return len(id) >= 3 && strings.ContainsRune(kinds, rune(id[0])) && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

func decodeSlackAccess(f *fields) Access {
	a := Access{}
	a.DMPolicy, a.AllowFrom = f.direct((*fields).slackUsers, "groupEnabled", "groupChannels", "replyToMode")
	a.decodeSlackChannels(f)
	return a
}

// decodeSlackChannels reads in which channels agents answer, and whom. Without groupPolicy open only listed ones are
// allowed, as in OpenClaw.
func (a *Access) decodeSlackChannels(f *fields) {
	policy := f.choice("groupPolicy", "allowlist", "open", "disabled")
	every, all := Guild{ID: EveryGuild}, policy == "open"
	f.named("channels", func(id string, c *fields) {
		room := Room{ID: slackPlace(id), Closed: !c.flag("enabled", true) || !c.flag("allow", true), Users: c.listed("users", (*fields).slackUsers),
			RequireMention: c.optionalFlag("requireMention")}
		c.others("allowBots", "skills", "systemPrompt", "tools", "toolsBySender", "replyToMode", "ignoreOtherMentions")
		c.done()
		switch {
		case c.object == nil: // already reported
			return
		case id == everyChannel:
			room.ID, all = everyChannel, !room.Closed
		case room.ID == "":
			f.report.add(warning(CodeValue, c.object.at, c.at, "this is not the id of a channel: it has no effect",
				"write the id, such as C0123456789: it is at the end of the channel's details in Slack"))
			return
		case !room.Closed:
			every.Channels = append(every.Channels, room.ID)
		}
		if room.isSet() {
			every.Rooms = append(every.Rooms, room)
		}
	})
	a.GroupPolicy = "open"
	if policy == "disabled" {
		a.GroupPolicy = policy
		return
	}
	switch {
	case all:
		every.Channels = nil
	case len(every.Channels) == 0:
		every.Channels = []string{NoChannel}
	}
	slices.Sort(every.Channels)
	sortRooms(every.Rooms)
	if len(every.Channels)+len(every.Rooms) > 0 {
		a.Guilds = []Guild{every}
	}
}

// slackPlace is the id of a conversation or thread in the log, for what a configuration calls it: C0123, slack:c0123,
// channel:C0123. "" is anything else.
func slackPlace(id string) string {
	id, logged := strings.CutPrefix(strings.TrimSpace(id), coordination.Slack+":")
	chat, rest, threaded := strings.Cut(strings.TrimPrefix(id, "channel:"), ":")
	if logged {
		chat = strings.ToUpper(chat) // otherwise a name, such as general, would be an id
	}
	if !isSlackID(chat, "CDGT") {
		return ""
	}
	place := coordination.Slack + ":" + strings.ToLower(chat)
	if threaded {
		place += ":" + rest
	}
	if _, ok := coordination.ParseChatID(place); !ok {
		return ""
	}
	return place
}

// slackPlaceID reads the id of a conversation.
func slackPlaceID(f *fields, key string) string {
	id := f.id(key)
	if id == "" {
		return ""
	}
	place := slackPlace(id)
	if place == "" {
		f.report.add(warning(CodeValue, f.get(key).at, f.at.member(key), strconv.Quote(Shown(id))+" is not the id of a channel in Slack: it has no effect",
			"write it like C0123456789"))
	}
	return place
}

// slackKeys are settings for features of OpenClaw that openclawd does not have.
func slackKeys() []string {
	return []string{"userToken", "userTokenReadOnly", "capabilities", "commands", "slashCommand", "proxy", "textChunkLimit", "dmHistoryLimit",
		"dms", "retry", "actions", "defaultTo", "heartbeat", "execApprovals", "thread", "threadBindings", "responsePrefix", "contextVisibility",
		"reactionNotifications", "reactionAllowlist", "dangerouslyAllowNameMatching", "botLoopProtection", "mentionPatterns", "socketMode",
		"implicitMentions", "assistant", "enterprise"}
}

// slackLooks are settings about the appearance and habits of OpenClaw.
func slackLooks() []string {
	return []string{"markdown", "configWrites", "chunkMode", "blockStreaming", "streaming", "streamMode", "nativeStreaming", "blockStreamingCoalesce",
		"replyToMode", "replyToModeByChatType", "ackReaction", "ackReactionScope", "typingReaction", "unfurlLinks", "unfurlMedia", "healthMonitor",
		"heartbeatVisibility", "identity", "interactiveReplies"}
}
