package config

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// decodeChannels reads channels.discord, channels.telegram and channels.slack. Other channels, which plugins may add, are not checked.
func (c *Config) decodeChannels(f *fields) {
	d := &c.Discord
	discord := f.within("discord")
	d.decodeAccounts(discord)
	d.AllowBots = allowBots(discord)
	d.HistoryIncludeBots = discord.flag("historyIncludeBots", false)
	d.HistoryLimit = discord.count("historyLimit", 20, 0, maxCount)
	d.MaxMedia = discord.megabytes("mediaMaxMb", defaultMediaMB)
	d.RequireMention = discord.flag("requireMention", false)
	d.Access = decodeDiscordAccess(discord)
	d.decodeMentions(discord)
	d.DefaultAccount = discord.text("defaultAccount", "")
	d.Collaboration = decodeCollaboration(discord.within("collaboration"), discordIDs())
	d.checkCollaboration(discord)
	d.Retry = decodeRetry(discord.within("a2aRetry"), discordIDs())
	discord.others(accountKeys()...)
	discord.aside(accountLooks()...)
	discord.done()
	c.decodeTelegram(f.within("telegram"))
	c.decodeSlack(f.within("slack"))
	if f.object != nil {
		for _, m := range f.object.members { // arbitrary settings of other channels
			f.others(m.key)
		}
	}
}

// allowBots accepts OpenClaw's values: a boolean, or "mentions".
func allowBots(f *fields) string {
	v := f.get("allowBots")
	f.schema.member("allowBots").is("boolean", "string").otherwise(false)
	switch {
	case v == nil:
		return "no"
	case v.kind == boolean && v.text == "true":
		return "yes"
	case v.kind == boolean:
		return "no"
	case v.kind == text && v.text == "mentions":
		return v.text
	case v.kind == text:
		f.invalid(v, f.at.member("allowBots"), "is not an allowed value", `use true, false or "mentions"`)
	default:
		f.wrong(v, f.at.member("allowBots"), boolean.String())
	}
	return "no"
}

// decodeAccounts reads the bots: the one with its token directly in channels.discord, and those of accounts.
func (d *Channel) decodeAccounts(discord *fields) {
	own := decodeAccount(discord, DefaultAccount)
	d.Enabled = own.Enabled
	discord.named("accounts", func(id string, f *fields) {
		a := decodeAccount(f, id)
		a.MaxMedia, a.Own = f.megabytes("mediaMaxMb", 0), ownAccess(discord, f, discordAccess, decodeDiscordAccess)
		d.Accounts = append(d.Accounts, a)
		f.others(accountKeys()...)
		f.aside(accountLooks()...)
		f.others("allowBots", "historyIncludeBots", "historyLimit", "requireMention", "collaboration", "a2aRetry")
		f.done()
	})
	slices.SortFunc(d.Accounts, func(a, b Account) int { return cmp.Compare(a.ID, b.ID) })
	if own.Token != "" || own.BotUserID != "" {
		d.Accounts = append([]Account{own}, d.Accounts...)
	}
}

func decodeDiscordAccess(f *fields) Access {
	a := Access{GroupPolicy: f.choice("groupPolicy", "open", "allowlist", "disabled"), Guilds: decodeGuilds(f)}
	a.DMPolicy, a.AllowFrom = f.direct((*fields).ids, "groupEnabled", "groupChannels", "retry", "threadReplies")
	return a
}

func decodeAccount(f *fields, id string) Account {
	a := Account{ID: id, Name: f.text("name", ""), Enabled: f.flag("enabled", true), Token: f.secret("token")}
	ofToken := botUserID(a.Token)
	a.BotUserID = cmp.Or(f.id("botUserId"), ofToken)
	if a.Token != "" && ofToken == "" {
		f.report.add(warning(CodeToken, f.get("token").at, f.at.member("token"), "this does not look like a Discord bot token",
			"copy it from the Bot page of the Discord developer portal"))
	}
	return a
}

// botUserID is the user id encoded in a bot token, "" for anything else.
func botUserID(token Secret) string {
	first, _, found := strings.Cut(strings.TrimPrefix(token.Reveal(), "Bot "), ".")
	if !found {
		return ""
	}
	decoded, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil {
		decoded, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
	}
	if err != nil || !isSnowflake(string(decoded)) {
		return ""
	}
	return string(decoded)
}

// isSnowflake reports whether s has the form of a Discord id.
func isSnowflake(s string) bool {
	const shortest, longest = 15, 20
	return len(s) >= shortest && len(s) <= longest && strings.Trim(s, "0123456789") == ""
}

func (d *Channel) decodeMentions(discord *fields) {
	names := discord.within("mentions")
	discord.schema.member("mentions").each("string")
	if names.object == nil {
		return
	}
	d.Mentions = map[string]string{}
	for _, m := range names.object.members {
		if name := names.text(m.key, ""); name != "" {
			d.Mentions[m.key] = name
		}
	}
}

// chatIDs read ids of a service.
type chatIDs struct {
	channel func(f *fields, key string) string // of a place in which agents collaborate
	place   func(f *fields, key string) string // of any other place
	user    func(f *fields, key string) string
}

func discordIDs() chatIDs {
	return chatIDs{channel: (*fields).id, place: (*fields).snowflake, user: (*fields).snowflake}
}

func decodeCollaboration(f *fields, ids chatIDs) Collaboration {
	guard, rate, escalation := f.within("loopGuard"), f.within("rateLimit"), f.within("escalation")
	c := Collaboration{
		DefaultChannel:       ids.channel(f, "defaultChannel"),
		AllowedChannels:      f.ids("allowedChannels"),
		AllowedGuilds:        f.ids("allowedGuilds"),
		Escalation:           Escalation{ChannelID: ids.place(escalation, "channelId"), MentionUserID: ids.user(escalation, "mentionUserId")},
		ThreadReuse:          f.duration("threadReuseTTL", 6*time.Hour),
		ObserverHistoryLimit: f.count("observerHistoryLimit", 50, 0, maxCount),
		ObserverHistoryTTL:   f.duration("observerHistoryTTL", day),
		ParticipantTTL:       f.duration("participantTTL", day),
		ThreadMention:        f.choice("threadMention", "participants", "mentioned"),
		AutoRoute:            f.flag("autoRoute", false),
		Language:             coordination.Language(f.choice("language", "", string(coordination.Korean), string(coordination.English))),
		LoopGuard: LoopGuard{
			MaxPerPair: guard.count("maxCollaboratePerPair", 10, 1, maxCount),
			Window:     guard.duration("windowMs", 5*time.Minute),
		},
		RateLimit: RateLimit{
			ThreadsPerMinute:  rate.count("threadCreationPerMinute", 5, 1, maxCount),
			MessagesPerSecond: rate.count("messagePerChannelPerSecond", 5, 1, maxCount),
		},
	}
	guard.done()
	rate.done()
	escalation.done()
	f.done()
	return c
}

func decodeRetry(f *fields, ids chatIDs) ResponseRetry {
	r := ResponseRetry{
		Enabled:          f.flag("enabled", true),
		ResponseTimeout:  f.duration("responseTimeoutMs", 5*time.Minute),
		MaxAttempts:      f.count("maxAttempts", 3, 1, maxCount),
		CheckInterval:    f.duration("checkIntervalMs", time.Minute),
		CleanupMaxAge:    f.duration("cleanupMaxAgeMs", day),
		EscalationUserID: ids.user(f, "escalationMentionId"),
		NotifyOnFailure:  f.flag("notifyOnFailure", true),
	}
	f.done()
	return r
}

// accountKeys are account settings for features of OpenClaw that openclawd does not have.
func accountKeys() []string {
	return []string{"capabilities", "commands", "proxy", "dangerouslyAllowNameMatching", "textChunkLimit", "dmHistoryLimit", "dms",
		"retry", "actions", "activities", "defaultTo", "heartbeat", "execApprovals", "agentComponents", "slashCommand", "thread",
		"threadBindings", "intents", "voice", "pluralkit", "responsePrefix", "joinIntro", "contextVisibility", "applicationId", "applicationID",
		"tokenFile", "botLoopProtection", "mentionAliases", "mentionPatterns"}
}

// accountLooks are account settings about the appearance and habits of OpenClaw.
func accountLooks() []string {
	return []string{"markdown", "configWrites", "chunkMode", "blockStreaming", "streaming", "streamMode", "draftChunk", "blockStreamingCoalesce",
		"maxLinesPerMessage", "replyToMode", "ui", "ackReaction", "ackReactionScope", "activity", "status", "activityType", "activityUrl", "autoPresence",
		"inboundWorker", "eventQueue", "healthMonitor", "heartbeatVisibility", "suppressEmbeds", "gatewayInfoTimeoutMs", "gatewayReadyTimeoutMs",
		"gatewayRuntimeReadyTimeoutMs"}
}
