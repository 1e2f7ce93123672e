package config

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// globalScope is the session.scope in which all agents share one main session, and its key.
const globalScope = "global"

// SessionInScope returns the session that a key means under the session.scope in force.
func (c *Config) SessionInScope(key coordination.SessionKey) coordination.SessionKey {
	if c.Session.Scope == globalScope && key.Agent != "" && key == coordination.MainKey(key.Agent) {
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: globalScope}
	}
	return key
}

// FullModel returns a model that an agent names as provider/id. A model without a provider belongs to the first provider that has it, otherwise
// to the provider of the agent's usual model.
func (c *Config) FullModel(agent, ref string) string {
	if provider, _ := SplitModel(ref); provider != "" {
		return ref
	}
	for _, p := range c.Models.Providers {
		if slices.ContainsFunc(p.Models, func(m Model) bool { return m.ID == ref }) {
			return p.ID + "/" + ref
		}
	}
	provider, _ := SplitModel(c.ModelFor(agent).Primary)
	return strings.TrimPrefix(provider+"/"+ref, "/")
}
