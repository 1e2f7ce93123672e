package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxSettings bounds what the log keeps of a configuration, in bytes. It is written once per change, and read with every such event.
const (
	maxSettings      = 256 << 10
	maxSettingsDepth = 400 // less than the log takes
)

// Applied is the configuration as the log keeps it: who the agents are, how users of Discord are called, the Hash and what is Masked.
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

// mentions maps user ids of Discord to display names; it is nil if there are none.
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

// speakers are the agents that speak through the accounts of Discord, by account id: the one that is bound to it first, else the one of
// the same id. One that is bound but not configured is known by its id only.
func (c *Config) speakers() map[string]Agent {
	agents := map[string]Agent{}
	for _, a := range c.Agents {
		agents[strings.ToLower(a.ID)] = a
	}
	speakers := map[string]Agent{}
	for _, account := range c.Discord.Accounts {
		speakers[account.ID] = agents[strings.ToLower(account.ID)]
	}
	for _, whole := range []bool{false, true} { // who answers everywhere goes before who answers at one place
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

// whole reports whether a binding is about all messages of its account.
func (b *Binding) whole() bool {
	return b.PeerKind == "" && b.PeerID == "" && b.GuildID == "" && len(b.Roles) == 0 && b.TeamID == ""
}

// shown takes out of a text what is a secret somewhere.
func (c *Config) shown(s string) string { return maskText(c.hide.Replace(s)) }
