package inbound

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// sinksOf returns the report-only users of Discord, where the sinks are: their bots that belong to no agent.
func sinksOf(c *config.Config, bots []route.Bot) (s route.Sinks) {
	for i := range c.Gateway.Sinks {
		account := c.Gateway.Sinks[i].Discord.RouterAccount
		if account == "" || slices.ContainsFunc(bots, func(b route.Bot) bool { return strings.EqualFold(b.AccountID, account) && b.Agent != "" }) {
			continue
		}
		for _, a := range c.Discord.Accounts {
			if strings.EqualFold(a.ID, account) && a.BotUserID != "" {
				s.Authors = append(s.Authors, a.BotUserID)
			}
		}
	}
	return s
}
