package policy

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Judge reports whether from may write to to. Agents may always write to themselves, and to no other if agent-to-agent
// messages are switched off.
func (p AgentToAgent) Judge(from, to string) Verdict { return p.Row(from).Judge(to) }

// Normalized has the patterns in the form in which they are compared: Row need not convert them then.
func (p AgentToAgent) Normalized() AgentToAgent {
	norm := func(pattern string) string { return string(coordination.NewPattern(pattern)) }
	n := AgentToAgent{Enabled: p.Enabled, Allow: make([]string, len(p.Allow)), Pairs: make([]Pair, len(p.Pairs))}
	for i, pattern := range p.Allow {
		n.Allow[i] = norm(pattern)
	}
	for i, pair := range p.Pairs {
		n.Pairs[i] = Pair{norm(pair.From), norm(pair.To), pair.Allow}
	}
	return n
}

// Row is what the rules say of one agent that writes: those that do not concern it are left out once.
type Row struct {
	from    string
	enabled bool
	pairs   []rowPair
	allow   []coordination.Pattern
}

// rowPair is a pair whose From matches.
type rowPair struct {
	index int
	to    coordination.Pattern
	allow bool
}

// Row prepares the rules for one agent that writes.
func (p AgentToAgent) Row(from string) *Row {
	r := &Row{from: coordination.TrimJS(from), enabled: p.Enabled}
	if !p.Enabled {
		return r
	}
	low := strings.ToLower(r.from)
	for i, pair := range p.Pairs {
		if coordination.NewPattern(pair.From).Matches(low) {
			r.pairs = append(r.pairs, rowPair{i, coordination.NewPattern(pair.To), pair.Allow})
		}
	}
	for _, pattern := range p.Allow {
		r.allow = append(r.allow, coordination.NewPattern(pattern))
	}
	return r
}

// Judge is what AgentToAgent.Judge says of the row's agent and to.
func (r *Row) Judge(to string) Verdict {
	to = coordination.TrimJS(to)
	switch {
	case strings.EqualFold(r.from, to):
		return Verdict{true, RuleSameAgent, "every agent reaches itself", ""}
	case !r.enabled:
		return Verdict{false, ruleDisabled, "agents do not reach each other: tools.agentToAgent.enabled is false", "set tools.agentToAgent.enabled to true"}
	}
	low := strings.ToLower(to)
	for i := range r.pairs {
		if r.pairs[i].to.Matches(low) {
			return r.pairs[i].verdict(r.from, to)
		}
	}
	if len(r.allow) == 0 {
		return Verdict{true, ruleOpen, "all agents reach each other: tools.agentToAgent.allow names none", ""}
	}
	for _, agent := range []string{r.from, to} {
		if !r.names(strings.ToLower(agent)) {
			return Verdict{false, ruleAllowList, fmt.Sprintf("agent %s is not named by tools.agentToAgent.allow", agent),
				fmt.Sprintf("add %q to tools.agentToAgent.allow, or %s to tools.agentToAgent.pairs", agent, pairOf(r.from, to))}
		}
	}
	return Verdict{true, ruleAllowList, fmt.Sprintf("tools.agentToAgent.allow names %s and %s", r.from, to), ""}
}

func (r *Row) names(low string) bool {
	for _, pattern := range r.allow {
		if pattern.Matches(low) {
			return true
		}
	}
	return false
}

// verdict is the decision of a matching pair.
func (p *rowPair) verdict(from, to string) Verdict {
	if p.allow {
		return Verdict{true, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] lets %s reach %s", p.index, from, to), ""}
	}
	return Verdict{false, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] does not let %s reach %s", p.index, from, to),
		fmt.Sprintf("put %s before it", pairOf(from, to))}
}

// pairOf is a pair that allows, in the configuration's syntax.
func pairOf(from, to string) string { return fmt.Sprintf("{from: %q, to: %q, allow: true}", from, to) }
