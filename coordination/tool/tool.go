// Package tool says what a tool of agents is, who calls one, and what comes back: the words that agents, tools and wires share.
package tool

import (
	"context"
	"encoding/json"
)

// Spec is what is told of a tool.
type Spec struct {
	Name        string
	Group       string // sessions, agents, tasks, ...: how catalogues sort it
	Label       string // for people
	Description string // for models
	Schema      json.RawMessage
	Guide       string // when and how to use it, for the system's prompt wherever it is offered; "" is none
}

// Entry is the way by which somebody reaches a tool.
type Entry string

const (
	ByRun  Entry = "run"  // a model has asked for it
	ByHTTP Entry = "http" // POST /tools/invoke
	ByWire Entry = "wire" // tools.invoke
	ByCLI  Entry = "cli"
)

// Caller is who calls a tool, in the name of which session.
type Caller struct {
	Entry      Entry
	AgentID    string
	SessionKey string
	SessionID  string
	RunID      string // "" outside of a run
	AskedID    string // id of the event that asked for the run, likewise
	CallID     string // makes a repetition one: the same for a call that a repeated run makes again, and for what a client repeats
	By         string // the client, outside of a run

	WorkSessionID  string
	TaskID         string
	ConversationID string
	Depth          int // how many have delegated to each other before this session; 0 for one that people talk with
	Hop            int // how often a message was passed on between agents before this run

	Channel, To, AccountID, ThreadID string // where the session is spoken to
}

// Output is what a tool has done. Text is for models; Details, a JSON object or absent, for programs.
type Output struct {
	Text    string
	Details json.RawMessage
	IsError bool // it could not do it, for the reason that Text says
}

// Box is a set of tools. Who may call which is its business.
type Box interface {
	// Offer lists the tools that a caller may call, in a fixed order.
	Offer(c Caller) []Spec
	// Call calls one. Its errors are *Error, or ctx's; a tool that says why it cannot is no error but an Output. It returns soon after ctx
	// ends, unless the tool does not heed it.
	Call(ctx context.Context, c Caller, name string, args json.RawMessage) (Output, error)
}

// Error says why a tool was not called, or broke.
type Error struct {
	Code  string // one of those below
	Tool  string
	Field string // of the arguments, as a JSON pointer; "" for all of them
	Text  string // what is wrong
	Mend  string
}

func (e *Error) Error() string { return e.Text }

// Codes of Error.
const (
	CodeUnknown      = "unknown_tool"      // there is none of this name, or the caller may not know
	CodeInvalid      = "invalid_arguments" // they are not as the schema has it
	CodeTaskRequired = "task_required"     // the caller's session has no task to call it for
	CodePlanRequired = "plan_required"     // no approved plan opens it to the caller
	CodeBroken       = "tool_failed"       // it panicked or failed inside; the reason is in the log only
)
