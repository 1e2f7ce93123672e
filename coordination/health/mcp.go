package health

// MCPState is the state of the connection to an MCP server.
type MCPState string

// States of MCP servers.
const (
	MCPIdle     MCPState = "idle" // it is started when an agent needs it
	MCPStarting MCPState = "starting"
	MCPReady    MCPState = "ready"
	MCPDown     MCPState = "down"     // it is tried again when it is called after RetryAt
	MCPDisabled MCPState = "disabled" // in the configuration
)

// MCPServer is an MCP server of the configuration. Times are ms since 1970. Texts are without the secrets of the configuration.
type MCPServer struct {
	Name      string   `json:"name"`
	Transport string   `json:"transport"` // stdio, streamable-http
	Launch    string   `json:"launch"`    // its command line or address
	State     MCPState `json:"state"`
	Since     int64    `json:"since,omitempty"`    // of ready: when it was connected
	Version   string   `json:"version,omitempty"`  // what it calls itself
	Protocol  string   `json:"protocol,omitempty"` // spoken with it
	Tools     []string `json:"tools"`              // as agents call them
	Problems  []string `json:"problems,omitempty"` // tools that are left out, and why
	Starts    int64    `json:"starts"`             // since this process began
	Failures  int64    `json:"failures"`           // starts that failed, and connections that were lost
	Error     string   `json:"error,omitempty"`    // of down: why
	RetryAt   int64    `json:"retryAt,omitempty"`  // of down
	Log       []string `json:"log,omitempty"`      // the last lines that its program wrote, also after its end
}
