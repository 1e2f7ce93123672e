package prompt

import "fmt"

// Bounds of a prompt.
const (
	leastRoom    = 100 // tokens for messages, at least
	mostForFiles = 0.5 // of the tokens for system prompt and messages
)

// Error reports that a message does not fit, because everything else fills the model's window.
type Error struct {
	Agent                         string
	Window, Answer, System, Tools int // tokens
}

func (e *Error) Error() string {
	return fmt.Sprintf("the window of %d tokens has no room for a message to agent %s: %d are reserved for the answer, the system prompt takes %d, the tools %d",
		e.Window, e.Agent, e.Answer, e.System, e.Tools)
}
func (e *Error) Code() string { return "prompt" }
func (e *Error) Hint() string {
	return "choose a model with a larger window, set a larger agents.defaults.contextTokens, or allow fewer tools with tools.allow"
}
