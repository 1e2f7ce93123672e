package a2a

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Policy says which agents may write to which. Capitals make no difference.
type Policy struct {
	Enabled bool
	Allow   []string // patterns, of which each of the two has to fit one; none is anybody
	Pairs   []Pair   // of which the first that fits decides, before Allow does
}

// Pair is a rule for one direction.
type Pair struct {
	From, To string // patterns: * is any part of a name
	Allow    bool
}

// Verdict is what a policy says of two agents.
type Verdict struct {
	Allowed bool
	Rule    string // what decided: same_agent, disabled, pair, allow_list, open
	Why     string // a sentence
	Mend    string // how to allow it; "" where it is
}

// What decides.
const (
	ruleSameAgent = "same_agent"
	ruleDisabled  = "disabled"
	rulePair      = "pair"
	ruleAllowList = "allow_list"
	ruleOpen      = "open"
)

// Judge says whether from may write to to. Everybody may write to themselves, and to nobody else where it is not switched on.
func (p Policy) Judge(from, to string) Verdict {
	from, to = coordination.TrimJS(from), coordination.TrimJS(to)
	switch {
	case strings.EqualFold(from, to):
		return Verdict{true, ruleSameAgent, "every agent reaches itself", ""}
	case !p.Enabled:
		return Verdict{false, ruleDisabled, "agents do not reach each other: tools.agentToAgent.enabled is false", "set tools.agentToAgent.enabled to true"}
	}
	for i, pair := range p.Pairs {
		if coordination.Matches(pair.From, from) && coordination.Matches(pair.To, to) {
			return pair.verdict(i, from, to)
		}
	}
	if len(p.Allow) == 0 {
		return Verdict{true, ruleOpen, "all agents reach each other: tools.agentToAgent.allow names none", ""}
	}
	for _, agent := range []string{from, to} {
		if !p.names(agent) {
			return Verdict{false, ruleAllowList, fmt.Sprintf("agent %s is not named by tools.agentToAgent.allow", agent),
				fmt.Sprintf("add %q to tools.agentToAgent.allow, or %s to tools.agentToAgent.pairs", agent, rule(from, to))}
		}
	}
	return Verdict{true, ruleAllowList, fmt.Sprintf("tools.agentToAgent.allow names %s and %s", from, to), ""}
}

func (p *Policy) names(agent string) bool {
	for _, pattern := range p.Allow {
		if coordination.Matches(pattern, agent) {
			return true
		}
	}
	return false
}

// verdict is what a pair says that fits.
func (p *Pair) verdict(i int, from, to string) Verdict {
	if p.Allow {
		return Verdict{true, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] lets %s reach %s", i, from, to), ""}
	}
	return Verdict{false, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] does not let %s reach %s", i, from, to),
		fmt.Sprintf("put %s before it", rule(from, to))}
}

// rule is a pair that allows, as a configuration has it.
func rule(from, to string) string { return fmt.Sprintf("{from: %q, to: %q, allow: true}", from, to) }
