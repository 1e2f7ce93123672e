package access

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/policy"
)

// Explain says what one agent may do with another under a configuration, which rule decides, and how to change it. Its
// errors are *policy.NoAgentError.
func Explain(c *config.Config, from, to string) (p policy.Policy, err error) {
	if p.From, err = agentMeant(c, "from", from); err != nil {
		return p, err
	}
	if p.To, err = agentMeant(c, "to", to); err != nil {
		return p, err
	}
	return explain(c, p.From, p.To), nil
}

// ExplainAll is what Explain says of each of the first configured agents, at most so many, towards each of them.
func ExplainAll(c *config.Config, most int) policy.Matrix {
	shown := min(most, len(c.Agents))
	m := policy.Matrix{Agents: make([]string, shown), Policies: make([]policy.Policy, 0, shown*shown), Count: len(c.Agents), Truncated: shown < len(c.Agents)}
	for i := range m.Agents {
		m.Agents[i] = strings.ToLower(c.Agents[i].ID)
	}
	for _, from := range m.Agents {
		for _, to := range m.Agents {
			m.Policies = append(m.Policies, explain(c, from, to))
		}
	}
	return m
}

// explain takes ids as agentMeant returns them.
func explain(c *config.Config, from, to string) policy.Policy {
	p := policy.Policy{From: from, To: to, Send: PolicyOf(c.Tools.AgentToAgent).Judge(from, to), Spawn: explainSpawn(c, from, to)}
	p.Visible = explainVisible(c, &p)
	return p
}

// agentMeant resolves the id of a configured agent. If none are configured, any id is valid.
func agentMeant(c *config.Config, field, id string) (string, error) {
	id = coordination.TrimJS(id)
	if a := c.AgentNamed(id); a != nil {
		return strings.ToLower(a.ID), nil
	}
	e := &policy.NoAgentError{Field: field, ID: id, Text: fmt.Sprintf("There is no agent %.80q", id)}
	low := strings.ToLower(id)
	switch {
	case coordination.NormalizeAgentID(low) != low:
		e.Hint = "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"
		return "", e
	case len(c.Agents) == 0:
		return low, nil
	}
	known := make([]string, len(c.Agents))
	for i := range c.Agents {
		known[i] = strings.ToLower(c.Agents[i].ID)
	}
	e.Hint = "name one of the configuration: " + strings.Join(known, ", ")
	if near := c.AgentLike(low); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q? %s", near, e.Hint)
	}
	return "", e
}

func explainSpawn(c *config.Config, from, to string) policy.Verdict {
	switch why := DenySpawn(c, from, to); {
	case why != "":
		return policy.Verdict{Rule: policy.RuleAllowAgents, Why: why, Hint: fmt.Sprintf("add %q to subagents.allowAgents of %s", to, from)}
	case from == to:
		return policy.Verdict{Allowed: true, Rule: policy.RuleSameAgent, Why: "every agent may start itself as its sub-agent"}
	}
	return policy.Verdict{Allowed: true, Rule: policy.RuleAllowAgents, Why: fmt.Sprintf("subagents.allowAgents of %s names %s", from, to)}
}

// explainVisible explains which sessions of to the main session of from sees.
func explainVisible(c *config.Config, p *policy.Policy) policy.Verdict {
	visibility := c.Tools.Visibility
	if p.From == p.To {
		what := map[string]string{"self": "its own session only", "tree": "its own session and those that come from it"}[visibility]
		if what == "" {
			what = "all of its own"
		}
		return policy.Verdict{Allowed: true, Rule: policy.RuleVisibility, Why: fmt.Sprintf("tools.sessions.visibility is %q: an agent sees %s", visibility, what)}
	}
	own := coordination.MainKey(p.From)
	guard := For(c, own, p.From)
	switch why := guard.DenyKey(coordination.MainKey(p.To)); {
	case why == "":
		return policy.Verdict{Allowed: true, Rule: policy.RuleVisibility,
			Why: fmt.Sprintf("tools.sessions.visibility is %q, and %s may write to %s", visibility, p.From, p.To)}
	case visibility != "all":
		return policy.Verdict{Rule: policy.RuleVisibility, Why: why, Hint: `set tools.sessions.visibility to "all"`}
	default:
		return policy.Verdict{Rule: p.Send.Rule, Why: why, Hint: p.Send.Hint}
	}
}
