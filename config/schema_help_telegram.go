package config

import "strings"

// telegramHelp explains channels.telegram. What it shares with channels.discord is explained there.
func telegramHelp(discord map[string]string) map[string]string {
	const from, to = "channels.discord.", "channels.telegram."
	texts := map[string]string{
		"channels.telegram":                                  "Settings of Telegram and its bots.",
		"channels.telegram.name":                             "Name of the default bot.",
		"channels.telegram.enabled":                          "Whether Telegram is used.",
		"channels.telegram.botToken":                         "The token of the default bot.",
		"channels.telegram.webhookUrl":                       "Public https address that Telegram calls with updates; without one, they are polled.",
		"channels.telegram.webhookSecret":                    "Text that Telegram sends with each call; required with webhookUrl.",
		"channels.telegram.webhookPath":                      "Path at which calls arrive on this machine.",
		"channels.telegram.webhookHost":                      "Address on this machine at which calls arrive.",
		"channels.telegram.webhookPort":                      "Port on this machine at which calls arrive.",
		"channels.telegram.accounts":                         "Additional bots, by id.",
		"channels.telegram.groupPolicy":                      "Who may speak in groups: listed people, everyone, or no one. With allowlist, groups have to be listed too.",
		"channels.telegram.groupAllowFrom":                   "User ids of those who may speak in groups; by default, those of allowFrom.",
		"channels.telegram.groups":                           "Allowed groups, by id; * stands for all others.",
		"channels.telegram.groups.*.enabled":                 "Whether the group is allowed.",
		"channels.telegram.groups.*.requireMention":          "Like channels.telegram.requireMention, for this group.",
		"channels.telegram.groups.*.groupPolicy":             "Like channels.telegram.groupPolicy, for this group.",
		"channels.telegram.groups.*.allowFrom":               "User ids of those who may speak in the group; by default, those of groupAllowFrom.",
		"channels.telegram.groups.*.topics":                  "Settings of topics of the group, by number; * stands for all that are not listed.",
		"channels.telegram.groups.*.topics.*.enabled":        "Whether agents answer in the topic.",
		"channels.telegram.groups.*.topics.*.requireMention": "Like channels.telegram.requireMention, for this topic.",
		"channels.telegram.groups.*.topics.*.groupPolicy":    "Like channels.telegram.groupPolicy, for this topic.",
		"channels.telegram.groups.*.topics.*.allowFrom":      "User ids of those who may speak in the topic; by default, those of the group.",
		"channels.telegram.mentions":                         "Names of Telegram users, by user id.",
	}
	for path, text := range discord {
		key, is := strings.CutPrefix(path, from)
		shared := strings.HasPrefix(key, "collaboration") || strings.HasPrefix(key, "a2aRetry")
		switch key {
		case "defaultAccount", "allowBots", "historyIncludeBots", "historyLimit", "mediaMaxMb", "accounts.*.mediaMaxMb", "requireMention", "dmPolicy", "allowFrom":
			shared = true
		}
		if is && shared {
			texts[to+key] = strings.NewReplacer("Discord", "Telegram", "Servers", "Groups", "thread", "topic").Replace(text)
		}
	}
	for _, key := range []string{"name", "enabled", "botToken", "webhookUrl", "webhookSecret", "webhookPath", "webhookHost", "webhookPort"} {
		texts[to+"accounts.*."+key] = strings.Replace(texts[to+key], "the default bot", "the bot", 1)
	}
	texts[to+"accounts.*.enabled"] = "Whether the bot is used."
	return texts
}
