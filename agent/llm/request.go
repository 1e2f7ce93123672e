package llm

import "encoding/json"

// Request is what a model is asked. A Provider does not change it and keeps nothing of it.
type Request struct {
	Model     string // as the provider names it
	System    string
	Messages  []Message // the oldest first
	Tools     []Tool    // that the model may call
	MaxTokens int       // of the answer; 0 leaves it to the provider
	Thinking  string    // how hard to think: minimal, low, medium, high, xhigh or max; "" and off leave it to the provider

	IdempotencyKey string // equal for every attempt at the same step; "" for none
	Attempt        int    // at this step, from 1; 0 is 1
	Agent          string // who asks; endpoints are not told
}

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // what a tool that was called has said
)

// Message is something that was said.
type Message struct {
	Role   Role
	Text   string
	Images []Image // of a user

	ToolCalls []ToolCall // of an assistant

	ToolCallID string // of a tool: the call that it answers
	ToolName   string
	IsError    bool // of a tool: it could not do it
}

// Image is a picture that a user shows.
type Image struct {
	MediaType string // such as image/png
	Data      []byte
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; empty for a tool that takes none
}

// ToolCall is a model's wish to have a tool called. Nobody has looked whether there is such a tool.
type ToolCall struct {
	ID        string // unique in the answer, never ""
	Name      string
	Arguments json.RawMessage // a JSON object, always
	Malformed string          // what the model said instead of a JSON object; "" if it did say one. Arguments is {} then, and nobody should act on it
}

// NewToolCall is a call with the arguments that a model has written. Nothing at all, and null, mean no arguments.
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

// blank reports whether a text is nothing but JSON's white space.
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
