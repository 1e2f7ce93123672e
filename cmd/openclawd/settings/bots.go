package settings

import (
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/discord"
)

// CheckBots finds the bots that speak for no agent, the agents that no bot speaks for, and what else of channels.discord and bindings does not go
// together. The findings are warnings: the other bots connect. Discord is not asked.
func CheckBots(c *config.Config) (findings config.Findings) {
	for _, w := range discord.RegistryOf(c).Warnings() {
		if w.Code == discord.BindingWithoutAccount {
			continue // the configuration says so itself, with the place
		}
		path := "channels.discord.accounts." + w.Subject
		if w.Code == discord.AgentWithoutBot {
			path = c.AgentPath(w.Subject)
		}
		findings = append(findings, config.Finding{Severity: config.Warning, Code: w.Code, File: c.File, Path: path, Message: w.Text, Mend: w.Mend})
	}
	return findings
}
