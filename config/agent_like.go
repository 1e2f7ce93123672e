package config

import "strings"

// AgentLike is the id of the agent that somebody may have meant who wrote an id that no agent has, or "".
func (c *Config) AgentLike(id string) string {
	known := make([]string, len(c.Agents))
	for i := range c.Agents {
		known[i] = strings.ToLower(c.Agents[i].ID)
	}
	return nearest(strings.ToLower(id), known)
}
