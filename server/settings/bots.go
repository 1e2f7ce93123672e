package settings

import (
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/discord"
)

// CheckBots finds bots without an agent, agents without a bot, and other inconsistencies between channels.discord and bindings. The
// findings are warnings: the other bots connect. Discord is not queried.
func CheckBots(c *config.Config) (findings config.Findings) {
	for _, w := range discord.RegistryOf(c).Warnings() {
		if w.Code == discord.BindingWithoutAccount {
			continue // reported with its position by the configuration itself
		}
		path := "channels.discord.accounts." + w.Subject
		if w.Code == discord.AgentWithoutBot {
			path = c.AgentPath(w.Subject)
		}
		findings = append(findings, config.Finding{Severity: config.Warning, Code: w.Code, File: c.File, Path: path, Message: w.Text, Hint: w.Hint})
	}
	return findings
}
