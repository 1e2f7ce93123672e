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
	if mayStart(c.AgentNamed(from), from, to) {
		return ""
	}
	return fmt.Sprintf("%s does not name %s", startsOf(c, from), to)
}

// mayStart takes the settings of from, nil if it has none.
func mayStart(settings *config.Agent, from, to string) bool {
	return strings.EqualFold(from, to) || settings != nil && slices.ContainsFunc(settings.AllowAgents, func(id string) bool {
		return id == "*" || strings.EqualFold(strings.TrimSpace(id), to)
	})
}

// startsOf is the path of the setting that says which agents an agent may start.
func startsOf(c *config.Config, agent string) string {
	return c.AgentPath(agent) + ".subagents.allowAgents"
}
