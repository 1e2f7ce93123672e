package config

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// decodeChannels reads channels.discord. Other channels, which plugins may add, are not ours to judge.
func (c *Config) decodeChannels(f *fields) {
	d := &c.Discord
	discord := f.within("discord")
	d.decodeAccounts(discord)
	d.AllowBots = allowBots(discord)
	d.HistoryIncludeBots = discord.flag("historyIncludeBots", false)
	d.HistoryLimit = discord.count("historyLimit", 20, 0, maxCount)
	d.GroupPolicy = discord.choice("groupPolicy", "open", "allowlist", "disabled")
	d.RequireMention = discord.flag("requireMention", false)
	d.decodeGuilds(discord)
	dm := discord.within("dm")
	d.DMPolicy = cmp.Or(discord.choice("dmPolicy", "", "pairing", "allowlist", "open", "disabled"),
		dm.choice("policy", "", "pairing", "allowlist", "open", "disabled"), "pairing")
	d.AllowFrom = append(discord.ids("allowFrom"), dm.ids("allowFrom")...)
	dm.others("enabled", "groupEnabled", "groupChannels", "retry", "threadReplies")
	dm.done()
	d.decodeMentions(discord)
	d.DefaultAccount = discord.text("defaultAccount", "")
	d.Collaboration = decodeCollaboration(discord.within("collaboration"))
	d.checkCollaboration(discord)
	d.Retry = decodeRetry(discord.within("a2aRetry"))
	discord.others(accountKeys()...)
	discord.aside(accountLooks()...)
	discord.done()
	if f.object != nil {
		for _, m := range f.object.members { // those of other channels, of which there may be any
			f.others(m.key)
		}
	}
}

// allowBots accepts what the reference system does: a flag, or "mentions".
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
		f.invalid(v, f.at.member("allowBots"), "is not one of the values that this setting can have", `use true, false or "mentions"`)
	default:
		f.wrong(v, f.at.member("allowBots"), boolean.String())
	}
	return "no"
}

// decodeAccounts reads the bots: the one whose token stands in channels.discord itself, and those of accounts.
func (d *Discord) decodeAccounts(discord *fields) {
	own := decodeAccount(discord, DefaultAccount)
	d.Enabled = own.Enabled
	discord.named("accounts", func(id string, f *fields) {
		d.Accounts = append(d.Accounts, decodeAccount(f, id))
		f.others(accountKeys()...)
		f.aside(accountLooks()...)
		f.others("allowBots", "historyIncludeBots", "historyLimit", "groupPolicy", "requireMention", "dmPolicy", "allowFrom", "dm", "collaboration",
			"a2aRetry")
		f.done()
	})
	slices.SortFunc(d.Accounts, func(a, b DiscordAccount) int { return cmp.Compare(a.ID, b.ID) })
	if own.Token != "" || own.BotUserID != "" {
		d.Accounts = append([]DiscordAccount{own}, d.Accounts...)
	}
}

func decodeAccount(f *fields, id string) DiscordAccount {
	a := DiscordAccount{ID: id, Name: f.text("name", ""), Enabled: f.flag("enabled", true), Token: f.secret("token")}
	ofToken := botUserID(a.Token)
	a.BotUserID = cmp.Or(f.id("botUserId"), ofToken)
	if a.Token != "" && ofToken == "" {
		f.report.add(warning(CodeToken, f.get("token").at, f.at.member("token"), "this does not look like the token of a Discord bot",
			"copy it from the Bot page of the Discord developer portal"))
	}
	return a
}

// botUserID is what a bot's token begins with: its user id in base64. It is "" for what is no such token.
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

// isSnowflake reports whether s can be an id of Discord.
func isSnowflake(s string) bool {
	const shortest, longest = 15, 20
	return len(s) >= shortest && len(s) <= longest && strings.Trim(s, "0123456789") == ""
}

func (d *Discord) decodeMentions(discord *fields) {
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

func decodeCollaboration(f *fields) Collaboration {
	guard, rate, escalation := f.within("loopGuard"), f.within("rateLimit"), f.within("escalation")
	c := Collaboration{
		DefaultChannel:       f.id("defaultChannel"),
		AllowedChannels:      f.ids("allowedChannels"),
		AllowedGuilds:        f.ids("allowedGuilds"),
		Escalation:           Escalation{ChannelID: escalation.snowflake("channelId"), MentionUserID: escalation.snowflake("mentionUserId")},
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

func decodeRetry(f *fields) ResponseRetry {
	r := ResponseRetry{
		Enabled:          f.flag("enabled", true),
		ResponseTimeout:  f.duration("responseTimeoutMs", 5*time.Minute),
		MaxAttempts:      f.count("maxAttempts", 3, 1, maxCount),
		CheckInterval:    f.duration("checkIntervalMs", time.Minute),
		CleanupMaxAge:    f.duration("cleanupMaxAgeMs", day),
		EscalationUserID: f.snowflake("escalationMentionId"),
		NotifyOnFailure:  f.flag("notifyOnFailure", true),
	}
	f.done()
	return r
}

// accountKeys are the settings of a Discord account by which the reference system does something that openclawd does not do.
func accountKeys() []string {
	return []string{"capabilities", "commands", "proxy", "dangerouslyAllowNameMatching", "textChunkLimit", "mediaMaxMb", "dmHistoryLimit", "dms",
		"retry", "actions", "activities", "defaultTo", "guilds", "heartbeat", "execApprovals", "agentComponents", "slashCommand", "thread",
		"threadBindings", "intents", "voice", "pluralkit", "responsePrefix", "joinIntro", "contextVisibility", "applicationId", "applicationID",
		"tokenFile", "botLoopProtection", "mentionAliases", "mentionPatterns"}
}

// accountLooks are those that say how things look and how the reference system goes about them.
func accountLooks() []string {
	return []string{"markdown", "configWrites", "chunkMode", "blockStreaming", "streaming", "streamMode", "draftChunk", "blockStreamingCoalesce",
		"maxLinesPerMessage", "replyToMode", "ui", "ackReaction", "ackReactionScope", "activity", "status", "activityType", "activityUrl", "autoPresence",
		"inboundWorker", "eventQueue", "healthMonitor", "heartbeatVisibility", "suppressEmbeds", "gatewayInfoTimeoutMs", "gatewayReadyTimeoutMs",
		"gatewayRuntimeReadyTimeoutMs"}
}
