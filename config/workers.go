package config

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// IsUtility reports whether an agent works only for others: it has no tasks, and is not asked for help.
func (a *Agent) IsUtility() bool { return a.Utility || a.Kind == coordination.KindUtility }

// Workers are the ids of the agents that can have tasks, in lower case, in configuration order. Without configured
// agents it is the built-in default.
func (c *Config) Workers() (ids []string) {
	for i := range c.Agents {
		if a := &c.Agents[i]; !a.IsUtility() {
			ids = append(ids, strings.ToLower(a.ID))
		}
	}
	if len(c.Agents) == 0 {
		ids = []string{c.DefaultAgentID()}
	}
	return ids
}
