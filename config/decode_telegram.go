package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// EveryGuild is the id of the settings of all groups, or workspaces, that are not listed themselves.
const EveryGuild = "*"

// noUser is never a user's id: no one may speak.
const noUser = "-"

// decodeTelegram reads channels.telegram. Groups are Guilds, by their ids in the log: telegram:-1001234567890.
func (c *Config) decodeTelegram(f *fields) {
	d := &c.Telegram
	d.decodeTelegramAccounts(f)
	d.AllowBots, d.HistoryIncludeBots = allowBots(f), f.flag("historyIncludeBots", false)
	d.HistoryLimit = f.count("historyLimit", 20, 0, maxCount)
	d.MaxMedia = f.megabytes("mediaMaxMb", defaultMediaMB)
	d.RequireMention = f.flag("requireMention", false)
	d.Access = decodeTelegramAccess(f)
	d.decodeMentions(f)
	d.DefaultAccount = f.text("defaultAccount", "")
	ids := chatIDs{channel: telegramPlaceID, place: telegramPlaceID, user: (*fields).id}
	d.Collaboration = decodeCollaboration(f.within("collaboration"), ids)
	for _, all := range [][]string{d.Collaboration.AllowedChannels, d.Collaboration.AllowedGuilds} {
		for i := range all {
			all[i] = cmp.Or(telegramPlace(all[i]), all[i])
		}
	}
	d.Retry = decodeRetry(f.within("a2aRetry"), ids)
	f.others(telegramKeys()...)
	f.aside(telegramLooks()...)
	f.done()
}

// decodeTelegramAccounts reads the bots: the one with its token directly in channels.telegram, and those of accounts.
func (d *Channel) decodeTelegramAccounts(telegram *fields) {
	own := decodeTelegramAccount(telegram, DefaultAccount)
	d.Enabled = own.Enabled
	telegram.named("accounts", func(id string, f *fields) {
		a := decodeTelegramAccount(f, id)
		a.MaxMedia, a.Own = f.megabytes("mediaMaxMb", 0), ownAccess(telegram, f, telegramAccess, decodeTelegramAccess)
		d.Accounts = append(d.Accounts, a)
		f.others(telegramKeys()...)
		f.aside(telegramLooks()...)
		f.others("allowBots", "historyIncludeBots", "historyLimit", "requireMention", "collaboration", "a2aRetry")
		f.done()
	})
	slices.SortFunc(d.Accounts, func(a, b Account) int { return cmp.Compare(a.ID, b.ID) })
	if own.Token != "" {
		d.Accounts = append([]Account{own}, d.Accounts...)
	}
}

func decodeTelegramAccount(f *fields, id string) Account {
	a := Account{ID: id, Name: f.text("name", ""), Enabled: f.flag("enabled", true), Token: f.secret("botToken")}
	a.Webhook = Webhook{URL: f.text("webhookUrl", ""), Secret: f.secret("webhookSecret"), Path: f.text("webhookPath", "/telegram-webhook"),
		Host: f.text("webhookHost", "127.0.0.1"), Port: f.count("webhookPort", 8787, 0, maxPort)}
	a.BotUserID = telegramBot(a.Token)
	if a.Token != "" && a.BotUserID == "" {
		f.report.add(warning(CodeValue, f.get("botToken").at, f.at.member("botToken"), "this does not look like a Telegram bot token",
			"copy it from @BotFather in Telegram: a number, a colon and 35 characters"))
	}
	if a.Webhook.URL != "" && a.Webhook.Secret == "" {
		f.report.add(warning(CodeValue, f.get("webhookUrl").at, f.at.member("webhookUrl"), "a webhook needs webhookSecret: updates are polled instead",
			"set webhookSecret to a long random text of letters, digits, _ and -"))
		a.Webhook.URL = ""
	}
	return a
}

// telegramBot is the user id in a bot token, "" for anything else.
func telegramBot(token Secret) string {
	id, secret, found := strings.Cut(token.Reveal(), ":")
	if n, err := strconv.ParseInt(id, 10, 64); !found || err != nil || n <= 0 || len(secret) < 20 {
		return ""
	}
	return id
}

// telegramUsers reads ids of users: 42, telegram:42, tg:42.
func (f *fields) telegramUsers(key string) (all []string) {
	for _, id := range f.ids(key) {
		id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(id), coordination.Telegram+":"), "tg:")
		if n, err := strconv.ParseInt(id, 10, 64); id != everyone && (err != nil || n <= 0) {
			f.report.add(warning(CodeValue, f.get(key).at, f.at.member(key), strconv.Quote(Shown(id))+" is not a user id of Telegram: it has no effect",
				"write the person's number; the bot's log has it when the person writes to the bot"))
			continue
		}
		all = append(all, id)
	}
	return all
}

const everyone = "*"

func decodeTelegramAccess(f *fields) Access {
	a := Access{DMPolicy: f.choice("dmPolicy", "pairing", "allowlist", "open", "disabled"), AllowFrom: f.telegramUsers("allowFrom")}
	a.decodeGroups(f)
	return a
}

// speakers say who may speak in a group or topic.
type speakers struct {
	policy string // open, allowlist or disabled
	users  []string
}

// inner are the speakers of a group, or of a topic: what is not set there is as outside of it.
func (s speakers) inner(f *fields) speakers {
	s.policy = cmp.Or(f.choice("groupPolicy", "", "allowlist", "open", "disabled"), s.policy)
	if users := f.telegramUsers("allowFrom"); f.object.get("allowFrom") != nil {
		s.users = users
	}
	if !f.flag("enabled", true) {
		s.policy = "disabled"
	}
	return s
}

// listed are those who may speak; none is everyone.
func (s speakers) listed() []string {
	if s.policy == "open" {
		return nil
	}
	return orNone(s.users)
}

// decodeGroups reads which groups are allowed, and who may speak in them. Without groupPolicy open only listed people
// may, as in OpenClaw: those of the topic, of the group, else of groupAllowFrom, else of allowFrom.
func (a *Access) decodeGroups(f *fields) {
	policy := f.choice("groupPolicy", "allowlist", "open", "disabled")
	all := speakers{policy, f.telegramUsers("groupAllowFrom")}
	if f.object.get("groupAllowFrom") == nil {
		all.users = a.AllowFrom
	}
	if policy == "disabled" { // whatever is written of a group
		all.policy = "open"
	}
	f.named("groups", func(id string, g *fields) {
		own := all.inner(g)
		one := Guild{ID: telegramPlace(id), RequireMention: g.optionalFlag("requireMention"), Users: own.listed()}
		one.Rooms = decodeTopics(g, one.ID, own)
		g.others("skills", "systemPrompt", "tools", "toolsBySender", "mentionPatterns", "ingest", "disableAudioPreflight", "errorPolicy",
			"errorCooldownMs")
		g.done()
		switch {
		case g.object == nil: // already reported
		case id != EveryGuild && one.ID == "":
			g.report.add(warning(CodeValue, g.object.at, g.at, "this is not the id of a group: it has no effect",
				"write the id that the log names when the bot is added to the group, such as -1001234567890"))
		case own.policy != "disabled":
			a.Guilds = append(a.Guilds, one)
		case id != EveryGuild: // also beside settings of all groups
			one.Channels = []string{NoChannel}
			a.Guilds = append(a.Guilds, one)
		}
	})
	every := slices.ContainsFunc(a.Guilds, func(g Guild) bool { return g.ID == EveryGuild })
	listed := f.object.get("groups") != nil
	switch {
	case policy == "disabled":
		a.GroupPolicy = "disabled"
	case every || !listed && policy == "open":
		a.GroupPolicy = "open"
	default:
		a.GroupPolicy = "allowlist"
	}
	slices.SortFunc(a.Guilds, func(a, b Guild) int { return cmp.Compare(a.ID, b.ID) })
}

// generalTopic is the topic of a forum whose messages name none.
const generalTopic = "1"

// decodeTopics reads the settings of a group's topics.
func decodeTopics(group *fields, place string, outside speakers) (all []Room) {
	group.named("topics", func(id string, f *fields) {
		own := outside.inner(f)
		one := Room{ID: place + ":topic:" + id, Closed: own.policy == "disabled", RequireMention: f.optionalFlag("requireMention")}
		if f.object.get("allowFrom") != nil || f.object.get("groupPolicy") != nil {
			if one.Users = own.listed(); one.Users == nil {
				one.Users = []string{everyone}
			}
		}
		f.others("agentId", "skills", "systemPrompt", "tools", "toolsBySender", "ingest", "disableAudioPreflight", "errorPolicy", "errorCooldownMs")
		f.done()
		n, err := strconv.Atoi(id)
		switch {
		case f.object == nil || place == "": // already reported
			return
		case id == EveryGuild:
			one.ID = id
		case id == generalTopic && place == EveryGuild:
			f.report.add(failure(CodeValue, f.object.at, f.at, "settings of the topic General are only read in a group that is listed by its id",
				"list the group by its id, or set them for the groups"))
		case id == generalTopic:
			one.ID = place
		case err != nil || n <= 0:
			f.report.add(failure(CodeValue, f.object.at, f.at, "this is not the id of a topic", "write its number, such as 7"))
		}
		if one.isSet() {
			all = append(all, one)
		}
	})
	sortRooms(all)
	return all
}

func orNone(users []string) []string {
	if len(users) == 0 {
		return []string{noUser}
	}
	return users
}

// telegramPlace is the id of a chat in the log, for what a configuration calls it: -100123, telegram:-100123. "*" stays,
// and "" is anything else.
func telegramPlace(id string) string {
	if id == EveryGuild {
		return id
	}
	id = strings.TrimPrefix(strings.TrimSpace(id), coordination.Telegram+":")
	chat, _, _ := strings.Cut(id, ":")
	if n, err := strconv.ParseInt(chat, 10, 64); err != nil || n == 0 {
		return ""
	}
	place := coordination.Telegram + ":" + id
	if !coordination.IsPlaceID(place) {
		return ""
	}
	return place
}

// telegramPlaceID reads the id of a chat.
func telegramPlaceID(f *fields, key string) string {
	id := f.id(key)
	if id == "" {
		return ""
	}
	place := telegramPlace(id)
	if place == "" || place == EveryGuild {
		f.report.add(warning(CodeValue, f.get(key).at, f.at.member(key), strconv.Quote(Shown(id))+" is not the id of a chat in Telegram: it has no effect",
			"write it like -1001234567890, a topic like -1001234567890:topic:7"))
		return ""
	}
	return place
}

// telegramKeys are settings for features of OpenClaw that openclawd does not have.
func telegramKeys() []string {
	return []string{"capabilities", "commands", "customCommands", "proxy", "tokenFile", "textChunkLimit", "mediaGroupFlushMs", "dmHistoryLimit",
		"dms", "direct", "retry", "actions", "defaultTo", "heartbeat", "execApprovals", "threadBindings", "responsePrefix", "contextVisibility",
		"reactionNotifications", "dangerouslyAllowNameMatching", "webhookCertPath", "apiRoot", "trustedLocalFileRoots", "network", "autoTopicLabel",
		"dangerouslyAllowPrivateNetwork", "errorPolicy", "errorCooldownMs", "botLoopProtection", "mentionPatterns"}
}

// telegramLooks are settings about the appearance and habits of OpenClaw.
func telegramLooks() []string {
	return []string{"markdown", "configWrites", "chunkMode", "blockStreaming", "streaming", "streamMode", "draftChunk", "blockStreamingCoalesce",
		"replyToMode", "linkPreview", "reactionLevel", "ackReaction", "ackReactionScope", "timeoutSeconds", "pollingStallThresholdMs", "healthMonitor",
		"heartbeatVisibility", "silentErrorReplies", "richMessages"}
}
