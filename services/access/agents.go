package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
)

// PolicyOf returns the configured policy about which agents may reach which.
func PolicyOf(c config.AgentToAgent) policy.AgentToAgent {
	p := policy.AgentToAgent{Enabled: c.Enabled, Allow: c.Allow}
	for _, pair := range c.Pairs {
		p.Pairs = append(p.Pairs, policy.Pair(pair))
	}
	return p
}

// DenyAgents returns why one agent may not reach another, "" if it may: the policy for messages between agents.
func DenyAgents(c config.AgentToAgent, from, to string) string {
	if v := PolicyOf(c).Judge(from, to); !v.Allowed {
		return v.Why
	}
	return ""
}

// DenySpawn returns why an agent may not start another one as its sub-agent, "" if it may. Every agent may start itself.
func DenySpawn(c *config.Config, from, to string) string {
	if strings.EqualFold(from, to) {
		return ""
	}
	if a := c.AgentNamed(from); a != nil && slices.ContainsFunc(a.AllowAgents, func(id string) bool {
		return id == "*" || strings.EqualFold(strings.TrimSpace(id), to)
	}) {
		return ""
	}
	return fmt.Sprintf("subagents.allowAgents of %s does not name %s", from, to)
}
