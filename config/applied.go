package config

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Applied is the configuration as the log keeps it: who the agents are, how users of Discord are called, and the Hash.
func (c *Config) Applied() coordination.ConfigApplied {
	applied := coordination.ConfigApplied{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		Hash:    c.Hash(), Source: filepath.Base(c.File), Agents: []coordination.ConfigAgent{}, Mentions: c.mentions(),
	}
	for _, a := range c.Agents {
		applied.Agents = append(applied.Agents, coordination.ConfigAgent{ID: c.shown(a.ID), Name: c.shown(a.Name), Kind: c.shown(a.Kind), Utility: a.Utility})
	}
	return applied
}

// mentions maps user ids of Discord to display names; it is nil if there are none.
func (c *Config) mentions() map[string]string {
	names := map[string]string{}
	for _, a := range c.Discord.Accounts {
		if a.BotUserID != "" {
			names[a.BotUserID] = c.shown(c.botName(a))
		}
	}
	for id, name := range c.Discord.Mentions {
		names[id] = c.shown(name)
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// botName is the name of the agent that speaks through an account: the one that is bound to it, else the one of the same id. An account
// that belongs to nobody has its own name.
func (c *Config) botName(account DiscordAccount) string {
	id := account.ID
	for _, b := range c.Bindings {
		if b.Channel == "discord" && cmp.Or(b.AccountID, DefaultAccount) == account.ID {
			id = b.AgentID
			break
		}
	}
	for _, a := range c.Agents {
		if strings.EqualFold(a.ID, id) {
			return cmp.Or(a.Name, account.Name, a.ID)
		}
	}
	return cmp.Or(account.Name, id)
}

// shown takes out of a text what is a secret somewhere.
func (c *Config) shown(s string) string { return maskText(c.hide.Replace(s)) }
