package prompt

import "fmt"

// Bounds of a prompt, in tokens and parts.
const (
	leastRoom    = 100 // tokens that messages have at least
	mostForFiles = 0.5 // of what a window has for system prompt and messages
)

// Error says that there is no room for a message: what has to be told besides fills the model's window.
type Error struct {
	Agent                         string
	Window, Answer, System, Tools int // tokens
}

func (e *Error) Error() string {
	return fmt.Sprintf("the window of %d tokens has no room for a message of agent %s: the answer is to have %d, the system prompt takes %d, the tools %d",
		e.Window, e.Agent, e.Answer, e.System, e.Tools)
}
func (e *Error) Code() string { return "prompt" }
func (e *Error) Hint() string {
	return "choose a model with a larger window, set a larger agents.defaults.contextTokens, or allow fewer tools with tools.allow"
}
