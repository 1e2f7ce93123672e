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
	// Spec is what is told of it. The name is of a-z, 0-9 and _, at most 64; the schema describes an object, and should allow no members but
	// its own, so that a slip of the pen is told.
	tool.Spec
	Who Who
	// Do does it. It is called by many at a time, heeds ctx, and panics harm nobody. Errors are *tool.Error, which callers see, or anything
	// else, which is logged and not told.
	Do func(ctx context.Context, call *Call) (tool.Output, error)
}

// Who says who may not call a tool whatever the configuration says. The zero Who forbids nobody.
type Who struct {
	NotFrom    []coordination.KeyKind // sessions of these kinds
	NotBy      []tool.Entry           // ways by which somebody reaches tools
	NotUtility bool                   // agents that only ever work for another
	// Unless reports whether a caller may not, where it takes more to say so: how deep it was spawned, whom it may reach. It is asked for every
	// offer and every call, with all of the Call but Args, and so must be quick. nil forbids nobody.
	Unless func(*Call) bool
}

// Call is one call of a tool.
type Call struct {
	tool.Caller // AgentID and SessionKey are those of Session

	Session coordination.SessionKey // never zero; of no agent only if it is an alias
	Config  *config.Config          // in force when the call began
	Args    json.RawMessage         // an object, as the schema has it
}

// Decode reads the arguments of a call into an A. Numbers that are whole are written without fraction and exponent, so that they fit into
// integers. Errors are *tool.Error.
func Decode[A any](call *Call) (args A, err error) {
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return args, &tool.Error{Code: tool.CodeInvalid, Text: "invalid arguments: a value is of another type than the schema says",
			Mend: "give the arguments as the schema has them"}
	}
	return args, nil
}
