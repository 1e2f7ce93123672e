package server

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/access"
)

// Rules of verdicts, beside those of a2a.Verdict.
const (
	ruleSameAgent   = "same_agent"
	ruleAllowAgents = "allow_agents"
	ruleVisibility  = "visibility"
)

// Explain says what one agent may do with another by a configuration, which rule decides, and how to change it. Its errors are
// *monitor.NoAgentError.
func Explain(c *config.Config, from, to string) (p monitor.Policy, err error) {
	if p.From, err = agentMeant(c, "from", from); err != nil {
		return p, err
	}
	if p.To, err = agentMeant(c, "to", to); err != nil {
		return p, err
	}
	send := access.PolicyOf(c.Tools.AgentToAgent).Judge(p.From, p.To)
	p.Send = monitor.Verdict{Allowed: send.Allowed, Rule: send.Rule, Why: send.Why, Mend: send.Mend}
	p.Spawn = explainSpawn(c, p.From, p.To)
	p.Visible = explainVisible(c, &p)
	return p, nil
}

// agentMeant is the id of an agent that is configured. Where none is, any may be.
func agentMeant(c *config.Config, field, id string) (string, error) {
	id = coordination.TrimJS(id)
	if a := c.AgentNamed(id); a != nil {
		return strings.ToLower(a.ID), nil
	}
	e := &monitor.NoAgentError{Field: field, ID: id, Text: fmt.Sprintf("There is no agent %.80q", id)}
	low := strings.ToLower(id)
	switch {
	case coordination.NormalizeAgentID(low) != low:
		e.Mend = "use a-z, 0-9, _ and -, with a letter or digit first, at most 64"
		return "", e
	case len(c.Agents) == 0:
		return low, nil
	}
	known := make([]string, len(c.Agents))
	for i := range c.Agents {
		known[i] = strings.ToLower(c.Agents[i].ID)
	}
	e.Mend = "name one of the configuration: " + strings.Join(known, ", ")
	if near := c.AgentLike(low); near != "" {
		e.Mend = fmt.Sprintf("did you mean %q? %s", near, e.Mend)
	}
	return "", e
}

func explainSpawn(c *config.Config, from, to string) monitor.Verdict {
	switch why := access.DenySpawn(c, from, to); {
	case why != "":
		return monitor.Verdict{Rule: ruleAllowAgents, Why: why, Mend: fmt.Sprintf("add %q to subagents.allowAgents of %s", to, from)}
	case from == to:
		return monitor.Verdict{Allowed: true, Rule: ruleSameAgent, Why: "every agent may start itself as its sub-agent"}
	}
	return monitor.Verdict{Allowed: true, Rule: ruleAllowAgents, Why: fmt.Sprintf("subagents.allowAgents of %s names %s", from, to)}
}

// explainVisible is for the sessions of to, as the main session of from sees them.
func explainVisible(c *config.Config, p *monitor.Policy) monitor.Verdict {
	visibility := c.Tools.Visibility
	if p.From == p.To {
		what := map[string]string{"self": "its own session only", "tree": "its own session and those that come from it"}[visibility]
		if what == "" {
			what = "all of its own"
		}
		return monitor.Verdict{Allowed: true, Rule: ruleVisibility, Why: fmt.Sprintf("tools.sessions.visibility is %q: an agent sees %s", visibility, what)}
	}
	own := coordination.MainKey(p.From)
	guard := access.For(&tools.Call{Caller: tool.Caller{AgentID: p.From}, Session: own, Config: c})
	switch why := guard.DenyKey(coordination.MainKey(p.To)); {
	case why == "":
		return monitor.Verdict{Allowed: true, Rule: ruleVisibility,
			Why: fmt.Sprintf("tools.sessions.visibility is %q, and %s may write to %s", visibility, p.From, p.To)}
	case visibility != "all":
		return monitor.Verdict{Rule: ruleVisibility, Why: why, Mend: `set tools.sessions.visibility to "all"`}
	default:
		return monitor.Verdict{Rule: p.Send.Rule, Why: why, Mend: p.Send.Mend}
	}
}
