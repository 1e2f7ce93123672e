package policy

// Rights says which tools agents may call in runs of their main sessions.
type Rights struct {
	Agents    []AgentRights `json:"agents"`    // in the order of the configuration
	Tools     []ToolRight   `json:"tools"`     // of one agent, by name; empty for all agents
	Count     int           `json:"count"`     // agents of the configuration
	Truncated bool          `json:"truncated"` // not all of them are in Agents
}

// AgentRights counts the tools of an agent.
type AgentRights struct {
	AgentID string `json:"agentId"`
	Profile string `json:"profile"`
	Allowed int    `json:"allowed"`
	Denied  int    `json:"denied"`
}

// ToolRight says whether an agent may call a tool.
type ToolRight struct {
	Tool    string `json:"tool"`
	Group   string `json:"group"`
	Server  string `json:"server,omitempty"` // the MCP server that performs it
	Outside bool   `json:"outside"`          // it has an effect outside of openclawd: its calls are recorded
	Repeat  string `json:"repeat,omitempty"` // why a call whose outcome is unknown may be made again: readOnly, idempotent, keyed
	Allowed bool   `json:"allowed"`
	BuiltIn bool   `json:"builtIn,omitempty"` // the tool itself excludes the agent, whatever the configuration allows
	Why     string `json:"why,omitempty"`     // it is denied
	Hint    string `json:"hint,omitempty"`
}
