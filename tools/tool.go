package tools

import (
	"context"
	"encoding/json"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Tool is something that agents can do.
type Tool struct {
	// Spec describes it. The name has at most 64 characters of a-z, 0-9 and _. The schema describes an object and should forbid other
	// members, so that misspelled ones are reported.
	tool.Spec
	Who Who
	// Effect is what calls do outside of this program. The zero Effect is nothing.
	Effect Effect
	// Aliases are other names of arguments, with the names that they get before they are validated and any rule sees them. A name that is given
	// as well is not replaced.
	Aliases map[string]string
	// Do performs a call. It is called concurrently and respects ctx; a panic is recovered. Errors are *tool.Error, which callers see,
	// or anything else, which is only logged.
	Do func(ctx context.Context, call *Call) (tool.Output, error)
}

// Effect says that calls of a tool have an effect outside of this program, which its log cannot undo.
type Effect struct {
	Outside bool
	Repeat  Repeat
	Server  string // the MCP server that performs it; "" for none
}

// Repeat says why a call whose outcome is unknown may be made again.
type Repeat string

const (
	RepeatNever      Repeat = ""
	RepeatReadOnly   Repeat = "readOnly"   // it changes nothing
	RepeatIdempotent Repeat = "idempotent" // made again with the same arguments it changes nothing more
	RepeatKeyed      Repeat = "keyed"      // the recipient recognizes it by Call.CallID
)

// UnknownOutcomeError reports, from Do of a tool with an outside effect, that the call may or may not have had it.
type UnknownOutcomeError struct {
	Reason string // one of those of coordination.ToolOutcomeUnknown
	Err    error
}

func (e *UnknownOutcomeError) Error() string {
	return "the outcome is unknown (" + e.Reason + "): " + e.Err.Error()
}

func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Who restricts the callers of a tool regardless of the configuration. The zero Who forbids none.
type Who struct {
	NotFrom    []coordination.KeyKind // kinds of sessions
	NotBy      []tool.Entry           // ways of reaching tools
	NotUtility bool                   // agents that only work for others
	// Unless adds a condition, such as the spawn depth or the agents that the caller can reach; true forbids the call. It is evaluated
	// for every offer and call, with all of the Call except Args, and so must be quick. nil forbids none.
	Unless func(*Call) bool
}

// Call is one call of a tool.
type Call struct {
	tool.Caller // AgentID and SessionKey are those of Session

	Session coordination.SessionKey // never zero; only an alias belongs to no agent
	Config  *config.Config          // in force when the call began
	Args    json.RawMessage         // an object that matches the schema
}

// Decode decodes the arguments of a call. Whole numbers have neither fraction nor exponent, so they fit into integers. Errors are
// *tool.Error.
func Decode[A any](call *Call) (args A, err error) {
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return args, &tool.Error{Code: tool.CodeInvalid, Text: "invalid arguments: a value has another type than the schema says",
			Hint: "give arguments that match the schema"}
	}
	return args, nil
}
