package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxSettings is the size limit of a configuration in the log, in bytes. It is written once per change, and read with
// every such event.
const (
	maxSettings      = 256 << 10
	maxSettingsDepth = 400 // below the log's limit
)

// Applied is the configuration as stored in the log: the agents, display names of Discord users, the Hash, and Masked.
func (c *Config) Applied() coordination.ConfigApplied {
	applied := coordination.ConfigApplied{
		Context: coordination.Context{EventRole: coordination.RoleObservability},
		Hash:    c.Hash(), Source: filepath.Base(c.File), Agents: []coordination.ConfigAgent{}, Mentions: c.mentions(),
	}
	if len(c.masked) <= maxSettings && c.tree.depth() <= maxSettingsDepth {
		applied.Settings = c.Masked()
	} else {
		applied.SettingsBytes = len(c.masked)
	}
	for _, a := range c.Agents {
		applied.Agents = append(applied.Agents,
			coordination.ConfigAgent{ID: c.shown(a.ID), Name: c.shown(a.Name), Kind: c.shown(a.Kind), Utility: a.Utility})
	}
	return applied
}

// mentions maps Discord user ids to display names; nil if there are none.
func (c *Config) mentions() map[string]string {
	speakers := c.speakers()
	names := map[string]string{}
	for _, account := range c.Discord.Accounts {
		if account.BotUserID != "" {
			agent := speakers[account.ID]
			names[account.BotUserID] = c.shown(cmp.Or(agent.Name, account.Name, agent.ID, account.ID))
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

// speakers maps Discord account ids to agents: the agent bound to the account, else the one with the same id. A bound
// agent that is not configured has only its id.
func (c *Config) speakers() map[string]Agent {
	agents := map[string]Agent{}
	for _, a := range c.Agents {
		agents[strings.ToLower(a.ID)] = a
	}
	speakers := map[string]Agent{}
	for _, account := range c.Discord.Accounts {
		speakers[account.ID] = agents[strings.ToLower(account.ID)]
	}
	for _, whole := range []bool{false, true} { // a binding for all messages takes precedence over one for a place
		for _, b := range slices.Backward(c.Bindings) { // the first one wins
			if b.Channel == "discord" && b.whole() == whole {
				agent := agents[strings.ToLower(b.AgentID)]
				agent.ID = cmp.Or(agent.ID, b.AgentID)
				speakers[cmp.Or(b.AccountID, DefaultAccount)] = agent
			}
		}
	}
	return speakers
}

// whole reports whether a binding covers all messages of its account.
func (b *Binding) whole() bool {
	return b.PeerKind == "" && b.PeerID == "" && b.GuildID == "" && len(b.Roles) == 0 && b.TeamID == ""
}

// shown removes from a text whatever is a secret in the configuration.
func (c *Config) shown(s string) string { return maskText(c.hide.Replace(s)) }
