// Package gatewaycli holds the commands that call one method of the gateway: what their words mean in its parameters, and how answers look to
// people.
package gatewaycli

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/pflag"
)

// Caller calls a method of the gateway.
type Caller func(ctx context.Context, method string, params any) (json.RawMessage, error)

// Command is a subcommand.
type Command struct {
	Use, Short string
	Args       int                  // how many follow
	Flags      func(*pflag.FlagSet) // nil: none of its own
	Example    string               // its words, after openclawd and the name of the group
	// Ask calls the gateway. text is for people; "": the answer itself.
	Ask func(ctx context.Context, call Caller, args []string, flags *pflag.FlagSet, now time.Time) (answer json.RawMessage, text string, err error)
}
