package tools

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// OnMachine reports whether the tool works on the machine of the run: its files, commands and network.
func (t *Tool) OnMachine() bool {
	return t.Group == tool.GroupFiles || t.Group == tool.GroupRuntime || t.Group == tool.GroupWeb
}

// reasonConnection is why the outcome of a call is unknown whose worker was lost.
const reasonConnection = "connection"

// elsewhere has a worker make a call. A call that the worker was not told of was not made.
func elsewhere(ctx context.Context, place *remote.Place, name string, call *Call) (tool.Output, error) {
	out, err := place.Call(ctx, call.Caller, call.CallID, name, call.Args)
	var lost *remote.LostError
	var unknown *remote.UnknownError
	switch {
	case errors.As(err, &unknown):
		return out, &UnknownOutcomeError{Reason: unknown.Reason, Err: err}
	case errors.As(err, &lost) && lost.Made:
		return out, &UnknownOutcomeError{Reason: reasonConnection, Err: err}
	case errors.As(err, &lost):
		return out, &tool.Error{Code: tool.CodeUnavailable, Text: "the call was not made: " + err.Error(), Hint: "make it again"}
	}
	return out, err
}
