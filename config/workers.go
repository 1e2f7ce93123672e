package config

import (
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// IsUtility reports whether an agent only ever works for another: it has no tasks, and nobody asks it for help.
func (a *Agent) IsUtility() bool { return a.Utility || a.Kind == coordination.KindUtility }

// Workers are the ids of the agents that can have tasks, in lower case, in the order of the configuration. Where none is configured it is the one
// that answers anyway.
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
