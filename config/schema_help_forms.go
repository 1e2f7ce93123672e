package config

import (
	"maps"
	"slices"
	"strings"
)

func help() map[string]string {
	texts := ownHelp()
	maps.Copy(texts, formsHelp())
	maps.Copy(texts, cronHelp())
	maps.Copy(texts, telegramHelp(ownHelp()))
	maps.Copy(texts, slackHelp(ownHelp()))
	accountAccessHelp(texts, "channels.discord.", discordAccess)
	accountAccessHelp(texts, "channels.telegram.", telegramAccess)
	accountAccessHelp(texts, "channels.slack.", slackAccess)
	own := ownHelp()
	maps.Copy(own, cronHelp())
	for path, text := range own {
		if own, ok := strings.CutPrefix(path, "agents.list[]."); ok && own != "id" {
			texts["agents.entries.*."+own] = text
		}
	}
	return texts
}

// formsHelp describes settings that other versions of OpenClaw have elsewhere.
func formsHelp() map[string]string {
	return map[string]string{
		"agents.entries":                      "The agents by id, as in OpenClaw since 2026.8.2.",
		"agents.list":                         "The agents, as in OpenClaw before 2026.8.2; agents.entries takes precedence.",
		"agents.defaults.systemAgent":         "The default agent.",
		"agents.defaults.systemAgent.agentId": "The agent used if none is named and none is marked as default.",
		"bindings[].match.provider":           "An older name of channel.",
		"bindings[].match.accountID":          "An older name of accountId.",
		"defaultModel":                        "An older place of agents.defaults.model.",
		"defaultModel.primary":                "The default model as provider/id.",
		"defaultModel.fallbacks":              "Models used in this order if the primary one fails.",
		"gateway.token":                       "An older place of gateway.auth.token.",
	}
}

// accountAccessHelp explains the settings of access that accounts may have of their own.
func accountAccessHelp(texts map[string]string, channel string, keys []string) {
	for path, text := range maps.Clone(texts) {
		key, is := strings.CutPrefix(path, channel)
		first, _, _ := strings.Cut(key, ".")
		if is && slices.Contains(keys, first) {
			texts[channel+"accounts.*."+key] = strings.TrimSuffix(text, ".") + ", for messages to this account; by default, as for all accounts."
		}
	}
}
