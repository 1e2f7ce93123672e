package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/a2a"
)

// PolicyOf is what a configuration says of which agents may reach which.
func PolicyOf(c config.AgentToAgent) a2a.Policy {
	p := a2a.Policy{Enabled: c.Enabled, Allow: c.Allow}
	for _, pair := range c.Pairs {
		p.Pairs = append(p.Pairs, a2a.Pair(pair))
	}
	return p
}

// DenyAgents says why one agent may not reach another, "" if it may: as the messages that agents send each other are judged.
func DenyAgents(policy config.AgentToAgent, from, to string) string {
	if v := PolicyOf(policy).Judge(from, to); !v.Allowed {
		return v.Why
	}
	return ""
}

// DenySpawn says why an agent may not start another one as its sub-agent, "" if it may. Everybody may start themselves.
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
