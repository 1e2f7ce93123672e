// Package policy decides which agents may write to which, and defines the types that report what one agent may do
// with another.
package policy

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// AgentToAgent says which agents may write to which. Case is ignored.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // patterns, one of which must match each of the two; none allows all
	Pairs   []Pair   // the first match decides, before Allow does
}

// Pair is a rule for one direction.
type Pair struct {
	From, To string // patterns: * is any part of a name
	Allow    bool
}

// Verdict is what a configured rule says of two agents.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`           // the deciding rule: one of those below
	Why     string `json:"why"`            // explanation, one sentence
	Hint    string `json:"hint,omitempty"` // how to allow it; "" if it is allowed
}

// Policy says what one agent may do with another under a configuration.
type Policy struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Send    Verdict `json:"send"`    // send messages to it: sessions_send
	Spawn   Verdict `json:"spawn"`   // start it as a sub-agent: sessions_spawn
	Visible Verdict `json:"visible"` // see its sessions: sessions_list, sessions_history
}

// Matrix says what each agent may do with each, also with itself.
type Matrix struct {
	Agents    []string `json:"agents"`    // ids of the compared agents, in the order of the configuration
	Policies  []Policy `json:"policies"`  // by who acts, then by towards whom, both in the order of Agents
	Count     int      `json:"count"`     // agents of the configuration
	Truncated bool     `json:"truncated"` // not all of them are in Agents
}

// NoAgentError says that an agent is not configured.
type NoAgentError struct {
	Field string // from, to
	ID    string
	Text  string
	Hint  string
}

func (e *NoAgentError) Error() string { return e.Text }

// Deciding rules.
const (
	RuleSameAgent   = "same_agent"
	RuleAllowAgents = "allow_agents" // of sub-agents
	RuleVisibility  = "visibility"   // of sessions
	ruleDisabled    = "disabled"
	rulePair        = "pair"
	ruleAllowList   = "allow_list"
	ruleOpen        = "open"
)

// Judge reports whether from may write to to. Agents may always write to themselves, and to no other if agent-to-agent
// messages are switched off.
func (p AgentToAgent) Judge(from, to string) Verdict {
	from, to = coordination.TrimJS(from), coordination.TrimJS(to)
	switch {
	case strings.EqualFold(from, to):
		return Verdict{true, RuleSameAgent, "every agent reaches itself", ""}
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

func (p *AgentToAgent) names(agent string) bool {
	for _, pattern := range p.Allow {
		if coordination.Matches(pattern, agent) {
			return true
		}
	}
	return false
}

// verdict is the decision of a matching pair.
func (p *Pair) verdict(i int, from, to string) Verdict {
	if p.Allow {
		return Verdict{true, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] lets %s reach %s", i, from, to), ""}
	}
	return Verdict{false, rulePair, fmt.Sprintf("tools.agentToAgent.pairs[%d] does not let %s reach %s", i, from, to),
		fmt.Sprintf("put %s before it", rule(from, to))}
}

// rule is a pair that allows, in the configuration's syntax.
func rule(from, to string) string { return fmt.Sprintf("{from: %q, to: %q, allow: true}", from, to) }
