package config

import "strings"

// slackHelp explains channels.slack. What it shares with channels.discord is explained there.
func slackHelp(discord map[string]string) map[string]string {
	const from, to = "channels.discord.", "channels.slack."
	texts := map[string]string{
		"channels.slack":                           "Settings of Slack and its apps.",
		"channels.slack.name":                      "Name of the default app.",
		"channels.slack.enabled":                   "Whether Slack is used.",
		"channels.slack.mode":                      "How events arrive: over sockets that openclawd opens, or by HTTP at webhookPath of the gateway.",
		"channels.slack.botToken":                  "The bot token of the default app, xoxb-.",
		"channels.slack.appToken":                  "The app token of the default app, xapp-, with the scope connections:write; needed for sockets.",
		"channels.slack.signingSecret":             "The signing secret of the default app; needed for HTTP.",
		"channels.slack.webhookPath":               "Path of the gateway to which Slack sends events, with mode http.",
		"channels.slack.accounts":                  "Additional apps, by id.",
		"channels.slack.groupPolicy":               "In which channels agents answer: the listed ones, all, or none.",
		"channels.slack.channels":                  "Channels in which agents answer, by id; * stands for all.",
		"channels.slack.channels.*.enabled":        "Whether agents answer there.",
		"channels.slack.channels.*.allow":          "Whether agents answer there, like enabled.",
		"channels.slack.channels.*.users":          "User ids of those who may write there; if empty, everyone may.",
		"channels.slack.channels.*.requireMention": "Like channels.slack.requireMention, for this channel.",
		"channels.slack.mentions":                  "Names of Slack users, by user id.",
	}
	for path, text := range discord {
		key, is := strings.CutPrefix(path, from)
		shared := strings.HasPrefix(key, "collaboration") || strings.HasPrefix(key, "a2aRetry") || strings.HasPrefix(key, "dm")
		switch key {
		case "defaultAccount", "allowBots", "historyIncludeBots", "historyLimit", "mediaMaxMb", "accounts.*.mediaMaxMb", "requireMention", "allowFrom":
			shared = true
		}
		if is && shared {
			texts[to+key] = strings.NewReplacer("Discord", "Slack", "Servers", "Workspaces", "The bot used", "The app used").Replace(text)
		}
	}
	for _, key := range []string{"name", "enabled", "mode", "botToken", "appToken", "signingSecret", "webhookPath"} {
		texts[to+"accounts.*."+key] = strings.Replace(texts[to+key], "the default app", "the app", 1)
	}
	texts[to+"accounts.*.enabled"] = "Whether the app is used."
	return texts
}
