package config

import "strings"

// AgentLike returns the id of an agent similar to an unknown id, or "".
func (c *Config) AgentLike(id string) string {
	known := make([]string, len(c.Agents))
	for i := range c.Agents {
		known[i] = strings.ToLower(c.Agents[i].ID)
	}
	return nearest(strings.ToLower(id), known)
}
