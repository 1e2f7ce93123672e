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
	return rowOf(c, PolicyOf(c.Tools.AgentToAgent), p.From).explain(p.To), nil
}

// ExplainAll is what Explain says of each of the first configured agents, at most so many, towards each of them, without
// its texts: they are long, and there is one for each two agents. With a from it is, with texts, what Explain says of this
// agent towards each configured one. Its errors are those of Explain.
func ExplainAll(c *config.Config, from string, most int) (m policy.Matrix, err error) {
	shown := len(c.Agents)
	if from == "" {
		shown = min(most, shown)
	}
	m = policy.Matrix{Agents: make([]string, shown), Policies: []policy.Policy{}, Count: len(c.Agents), Truncated: shown < len(c.Agents)}
	for i := range m.Agents {
		m.Agents[i] = strings.ToLower(c.Agents[i].ID)
	}
	acting := m.Agents
	if from != "" {
		if from, err = agentMeant(c, "from", from); err != nil {
			return policy.Matrix{}, err
		}
		acting = []string{from}
	}
	rules := PolicyOf(c.Tools.AgentToAgent).Normalized()
	for _, one := range acting {
		r := rowOf(c, rules, one)
		for _, to := range m.Agents {
			p := r.explain(to)
			if from == "" {
				p = withoutTexts(p)
			}
			m.Policies = append(m.Policies, p)
		}
	}
	return m, nil
}

// AgentsMeant returns the ids of the first configured agents, at most so many, or of the one that is named, and how many are configured.
// Without any, the default one is meant. Its errors are *policy.NoAgentError.
func AgentsMeant(c *config.Config, agent string, most int) (ids []string, count int, err error) {
	if agent != "" {
		agent, err = agentMeant(c, "agent", agent)
		return []string{agent}, len(c.Agents), err
	}
	for i := range c.Agents[:min(most, len(c.Agents))] {
		ids = append(ids, strings.ToLower(c.Agents[i].ID))
	}
	if len(ids) == 0 {
		ids = []string{c.DefaultAgentID()}
	}
	return ids, len(c.Agents), nil
}

func withoutTexts(p policy.Policy) policy.Policy {
	for _, v := range []*policy.Verdict{&p.Send, &p.Spawn, &p.Visible} {
		v.Why, v.Hint = "", ""
	}
	return p
}

// mostNamed is the number of agents that a hint names.
const mostNamed = 20

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
	for i := range c.Agents {
		e.Known = append(e.Known, strings.ToLower(c.Agents[i].ID))
	}
	e.Hint = "name one of the configuration: " + strings.Join(e.Known[:min(mostNamed, len(e.Known))], ", ")
	if len(e.Known) > mostNamed {
		e.Hint += ", …"
	}
	if near := c.AgentLike(low); near != "" {
		e.Hint = fmt.Sprintf("did you mean %q? %s", near, e.Hint)
	}
	return "", e
}
