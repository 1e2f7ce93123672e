package llm

import "encoding/json"

// Request is a request to a model. A Provider neither changes nor keeps it.
type Request struct {
	Model     string // as named by the provider
	System    string
	Messages  []Message // oldest first
	Tools     []Tool    // available to the model
	MaxTokens int       // maximum answer in tokens; 0: the provider's default
	Thinking  string    // thinking level: minimal, low, medium, high, xhigh or max; "" and off: the provider's default

	IdempotencyKey string // the same for all attempts at a step; "" for none
	Attempt        int    // attempt number of the step, from 1; 0 is 1
	Agent          string // the agent; not sent to endpoints
}

// Role is the author of a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // a tool's result
)

// Message is one message of a conversation.
type Message struct {
	Role   Role
	Text   string
	Images []Image // user only

	ToolCalls []ToolCall // assistant only

	ToolCallID string // tool only: the answered call
	ToolName   string
	IsError    bool // tool only: the call failed
}

// Image is an image in a user's message.
type Image struct {
	MediaType string // such as image/png
	Data      []byte
	SHA256    string // of Data, where that lies beside the log and is read later; else ""
}

// Tool is a tool available to a model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; empty for a tool without arguments
}

// ToolCall is a call requested by a model. The tool may not exist.
type ToolCall struct {
	ID        string // unique within the answer, never ""
	Name      string
	Arguments json.RawMessage // always a JSON object
	Malformed string          // the arguments as written if they are no JSON object, else "". Arguments is {} then and must not be used

	// Of a call read from a transcript; not sent. Key identifies it where Arguments do not, and Unmade says why it cannot be made with them.
	Key, Unmade string
	// Nth is which of the run's calls with this content it is, from 1; 0 if that is to be counted. Not sent.
	Nth int
}

// NewToolCall returns a call with arguments as written by a model. Empty and null mean no arguments.
func NewToolCall(id, name, arguments string) ToolCall {
	c := ToolCall{ID: id, Name: name, Arguments: json.RawMessage("{}")}
	var object map[string]json.RawMessage
	if raw := json.RawMessage(arguments); !blank(arguments) {
		if err := json.Unmarshal(raw, &object); err != nil {
			c.Malformed = arguments
		} else if object != nil {
			c.Arguments = raw
		}
	}
	return c
}

// blank reports whether a text is only JSON white space.
func blank(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}
