package settings

import (
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// CheckBots finds bots without an agent, agents without a bot, and other inconsistencies between the channels and bindings. The findings
// are warnings: the other bots connect. No service is queried.
func CheckBots(c *config.Config) (findings config.Findings) {
	for _, own := range coordination.Channels() {
		for _, w := range channel.RegistryOf(c, own.Name, channel.Links{}).Warnings() {
			if w.Code == channel.BindingWithoutAccount {
				continue // reported with its position by the configuration itself
			}
			path := "channels." + own.Name + ".accounts." + w.Subject
			if w.Code == channel.AgentWithoutBot {
				path = c.AgentPath(w.Subject)
			}
			findings = append(findings, config.Finding{Severity: config.Warning, Code: w.Code, File: c.File, Path: path, Message: w.Text, Hint: w.Hint})
		}
	}
	return findings
}
