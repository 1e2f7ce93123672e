// Package policy decides which agents may write to which, and defines the types that report what one agent may do
// with another.
package policy

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
	Rule    Rule   `json:"rule"`
	Why     string `json:"why,omitempty"`  // explanation, one sentence; "" in a matrix of all agents
	Hint    string `json:"hint,omitempty"` // how to allow it; "" if it is allowed, and in a matrix of all agents
}

// Policy says what one agent may do with another under a configuration.
type Policy struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Send    Verdict `json:"send"`    // send messages to it: sessions_send
	Spawn   Verdict `json:"spawn"`   // start it as a sub-agent: sessions_spawn
	Visible Verdict `json:"visible"` // see its sessions: sessions_list, sessions_history
}

// Matrix says what each agent may do with each, also with itself, or what one of them may do.
type Matrix struct {
	Agents    []string `json:"agents"`    // ids of the compared agents, in the order of the configuration
	Policies  []Policy `json:"policies"`  // by who acts, unless it is one, then by towards whom, both in the order of Agents
	Count     int      `json:"count"`     // agents of the configuration
	Truncated bool     `json:"truncated"` // not all of them are in Agents
}

// NoAgentError says that an agent is not configured.
type NoAgentError struct {
	Field string // from, to, agent
	ID    string
	Known []string // ids of those that are
	Text  string
	Hint  string
}

func (e *NoAgentError) Error() string { return e.Text }

// Rule is a deciding rule.
type Rule string

const (
	RuleSameAgent   Rule = "same_agent"
	RuleAllowAgents Rule = "allow_agents" // of sub-agents
	RuleVisibility  Rule = "visibility"   // of sessions
	RuleToolPolicy  Rule = "tool_policy"  // the one who acts does not have the tool
	ruleDisabled    Rule = "disabled"
	rulePair        Rule = "pair"
	ruleAllowList   Rule = "allow_list"
	ruleOpen        Rule = "open"
)
