// Package tool defines agents' tools, their callers and results: the types shared by agents, tools and APIs.
package tool

import (
	"context"
	"encoding/json"
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Group       string // sessions, agents, tasks, ...: the group in catalogues
	Label       string // for people
	Description string // for models
	Schema      json.RawMessage
	Guide       string // when and how to use it, for the system prompt; "" for none
	ReadOnly    bool   // a server of it says that it only reads
	Asks        bool   // some of the caller's calls wait for a decision of a person; set by Box.Offer
}

// Entry is the way a tool is called.
type Entry string

const (
	ByRun  Entry = "run"  // requested by a model
	ByHTTP Entry = "http" // POST /tools/invoke
	ByWire Entry = "wire" // tools.invoke
	ByCLI  Entry = "cli"
	ByJob  Entry = "job" // the check of a scheduled job
)

// Caller is the caller of a tool, on behalf of a session.
type Caller struct {
	Entry      Entry
	AgentID    string
	SessionKey string
	SessionID  string
	RunID      string // "" outside of a run
	AskedID    string // id of the event that queued the run, likewise
	CallID     string // idempotency key: equal for a repeated call of a repeated run, and for a client's repetition
	By         string // the client, outside of a run

	WorkSessionID  string
	TaskID         string
	ConversationID string
	Depth          int // delegation depth of the session; 0 for one that people talk to
	Hop            int // hops between agents before this run

	Channel, To, AccountID, ThreadID string // the channel that people use to talk to the session
}

// Output is the result of a tool. Text is for models; Details, a JSON object or absent, for programs.
type Output struct {
	Text    string
	Details json.RawMessage
	IsError bool // it failed; Text says why
}

// Box is a set of tools with its own access rules.
type Box interface {
	// Offer lists the tools that a caller may call, in a fixed order.
	Offer(c Caller) []Spec
	// Call calls a tool. Errors are *Error, *WaitsError or ctx's; a tool's own failure is an Output. It returns soon after ctx ends, unless the tool
	// ignores that.
	Call(ctx context.Context, c Caller, name string, args json.RawMessage) (Output, error)
}

// Waiter is a Box some of whose tools are known only after a while.
type Waiter interface {
	// Await returns when the tools that a caller may call are known, as far as they can be soon, or ctx ends.
	Await(ctx context.Context, c Caller)
}

// Error says why a tool was not called, or crashed.
type Error struct {
	Code  string // one of those below
	Tool  string
	Field string // of the arguments, as a JSON pointer; "" for all of them
	Text  string // what is wrong
	Hint  string
}

func (e *Error) Error() string { return e.Text }

// WaitsError says, to a run, that a call waits for a decision of a person. The call was not made: the run makes it again, with the same
// arguments, when it was decided or the time is over.
type WaitsError struct {
	ApprovalID string
	Until      int64 // ms since 1970
}

func (e *WaitsError) Error() string { return "the call waits for the decision " + e.ApprovalID }

const (
	CodeUnknown      = "unknown_tool"      // unknown, or hidden from the caller
	CodeInvalid      = "invalid_arguments" // they do not match the schema
	CodeTaskRequired = "task_required"     // the caller's session has no task to call it for
	CodePlanRequired = "plan_required"     // no approved plan opens it to the caller
	CodeDenied       = "call_denied"       // a rule, or a person, forbids the call
	CodeNoDecision   = "call_not_approved" // it needs a decision of a person, and there is none
	CodeUnavailable  = "tool_unavailable"  // what it belongs to is not reachable; the call was not made
	CodeUnderWay     = "call_under_way"    // the same call is being made already
	CodeOutside      = "outside_workspace" // a path that does not lie in the agent's workspace, or is a link
	CodeBadPath      = "invalid_path"
	CodeNoFile       = "file_not_found"
	CodeNotFile      = "wrong_kind_of_file" // a directory, a device, a file that may not be opened, or no text
	CodeTooLarge     = "file_too_large"
	CodeNoMatch      = "text_not_found" // the text to replace occurs not at all, or more than once
	CodeNoSandbox    = "no_sandbox"     // no sandbox works here, so commands are refused
	CodeNoProcess    = "process_not_found"
	CodeAddress      = "address_refused" // an address that is not public, or not a web address
	CodeBroken       = "tool_failed"     // it panicked or failed internally; the reason is only logged
)

// CodeOutcomeUnknown is the code, in the details of an Output, of a call that may or may not have had its effect.
const CodeOutcomeUnknown = "tool.outcome_unknown"
