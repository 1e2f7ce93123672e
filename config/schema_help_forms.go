package config

import (
	"maps"
	"strings"
)

// help says what settings do, by the paths of Schema.
func help() map[string]string {
	texts := ownHelp()
	maps.Copy(texts, formsHelp())
	for path, text := range ownHelp() {
		if own, ok := strings.CutPrefix(path, "agents.list[]."); ok && own != "id" {
			texts["agents.entries.*."+own] = text
		}
	}
	return texts
}

// formsHelp says what settings do that stand elsewhere in other versions of the reference system.
func formsHelp() map[string]string {
	return map[string]string{
		"agents.entries":                      "The agents by their ids, as OpenClaw has them since 2026.8.2.",
		"agents.list":                         "The agents, as OpenClaw had them before 2026.8.2; agents.entries goes before it.",
		"agents.defaults.systemAgent":         "Which agent stands in for a default one.",
		"agents.defaults.systemAgent.agentId": "The agent that answers where nobody is named and no agent is marked as default.",
		"bindings[].match.provider":           "An older name of channel.",
		"bindings[].match.accountID":          "An older name of accountId.",
		"defaultModel":                        "An older place of agents.defaults.model.",
		"defaultModel.primary":                "The model that answers, as provider/id.",
		"defaultModel.fallbacks":              "Models that answer, in this order, if the first one cannot.",
		"gateway.token":                       "An older place of gateway.auth.token.",
	}
}
