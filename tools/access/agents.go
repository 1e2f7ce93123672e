package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/tools"
)

// DenyAgents says why one agent may not reach another, "" if it may. Everybody reaches themselves. Where reaching is on at all, an empty
// list allows everybody, and any other one has to name both.
func DenyAgents(policy config.AgentToAgent, from, to string) string {
	switch {
	case strings.EqualFold(from, to):
		return ""
	case !policy.Enabled:
		return "agents do not reach each other: tools.agentToAgent.enabled is false"
	case len(policy.Allow) == 0:
		return ""
	}
	for _, agent := range []string{from, to} {
		if !slices.ContainsFunc(policy.Allow, func(pattern string) bool { return tools.Matches(pattern, agent) }) {
			return fmt.Sprintf("agent %s is not named by tools.agentToAgent.allow", agent)
		}
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
	return fmt.Sprintf("agents.list[].subagents.allowAgents of %s does not name %s", from, to)
}
