package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/gateway/client"
)

type toolCallFlags struct {
	toolFlags
	key     string
	timeout time.Duration
}

// defaultToolTime is longer than a flow between agents waits for its first answer.
const defaultToolTime = 6 * time.Minute

const toolsCallPath = "openclawd tools call"

func newToolsCall(p *process) *cobra.Command {
	var c toolCallFlags
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool as an agent",
		Long: `Asks the running gateway to call a tool in a session of an agent, and prints the result. The arguments are a JSON object: given literally,
as @FILE for those in a file, or as - for those on standard input. Clients may not call tools named by gateway.tools.deny of openclaw.json.

With --key the call is idempotent: repeating the same key and arguments does nothing and returns the first result.

Exit codes: 0 done; 1 failed, or no gateway answers; 2 wrong command line; 75 try again: busy, --timeout exceeded, or the connection was lost;
78 the gateway denies access.`,
		Example: `  openclawd tools call agents_list
  openclawd tools call sessions_send '{"agentId": "seum", "message": "배포 상태를 알려줘"}' --agent eden
  openclawd tools call sessions_send @ask.json --session agent:eden:main --key ask-1 --json
  echo '{"task": "read the log"}' | openclawd tools call sessions_spawn -`,
		Args: positional(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.callTool(cmd.Context(), c, args, cmd.InOrStdin())
		},
		ValidArgsFunction: p.completeTools(&c.toolFlags),
	}
	c.addFlags(p, cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "print the answer on one line, as the gateway sends it; errors in JSON too"
	flags.StringVar(&c.key, "key", "", "idempotency `KEY`: a repeated call with the same key does nothing")
	flags.DurationVar(&c.timeout, "timeout", defaultToolTime, "time limit `TIME` for the answer, including connecting")
	return cmd
}

func (p *process) callTool(ctx context.Context, c toolCallFlags, args []string, stdin io.Reader) error {
	if err := checkTime(c.timeout); err != nil {
		return err
	}
	params := c.meant()
	params["name"] = args[0]
	if len(args) > 1 {
		object, err := client.ReadArguments(args[1], stdin)
		if err != nil {
			return &usageError{command: toolsCallPath, err: err}
		}
		params["args"] = object
	}
	if c.key != "" {
		params["idempotencyKey"] = c.key
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, &lateError{c.timeout})
	defer stop()
	gateway, err := p.dial(ctx, c.gatewayFlags, nil)
	if err != nil {
		return err
	}
	defer gateway.Close()
	payload, err := askGateway(ctx, gateway, "tools.invoke", params)
	if err != nil {
		return err
	}
	var answer invokeAnswer
	if err := json.Unmarshal(payload, &answer); err != nil {
		return fmt.Errorf("decode the gateway's answer: %w", err)
	}
	if !answer.OK {
		return answer.refusal(ctx, gateway, c.toolFlags, args[0])
	}
	if c.asJSON {
		err = p.writePayload(callFlags{gatewayFlags: c.gatewayFlags}, payload)
	} else {
		err = p.writeToolOutput(&answer)
	}
	if err == nil && answer.Output.IsError {
		err = &codedError{text: args[0] + " declined the call", code: "tool_refused", hint: "its reason is on standard output"}
	}
	return err
}

// invokeAnswer is the response of tools.invoke.
type invokeAnswer struct {
	OK     bool
	Output struct {
		Content []struct{ Text string }
		Details json.RawMessage
		IsError bool
	}
	Error struct {
		Code, Message string
		Details       struct{ Field, Hint string }
	}
}

// refusal is the gateway's reason for not calling a tool.
func (a *invokeAnswer) refusal(ctx context.Context, gateway *client.Client, b toolFlags, name string) error {
	if a.Error.Code != codeNoTool {
		return &toolError{answer: a, name: name}
	}
	why := &noToolError{name: name, agent: cmp.Or(b.agent, "of "+b.session)}
	if has, err := toolsAt(ctx, gateway, b); err == nil {
		why.agent = has.AgentID
		why.closed = slices.ContainsFunc(has.Tools, func(t toolAnswer) bool { return t.Name == name })
	}
	return why
}

// codeNoTool is the code for a tool that does not exist, or that the client may not call.
const codeNoTool = "not_found"

// writeToolOutput prints the result of a tool: JSON indented, other text as it is, without terminal control
// characters.
func (p *process) writeToolOutput(a *invokeAnswer) error {
	for _, part := range a.Output.Content {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(part.Text), "", "  "); err != nil {
			b.Reset()
			b.WriteString(strings.TrimRight(part.Text, " \n"))
		}
		if _, err := fmt.Fprintln(p.stdout, steerless(b.String())); err != nil {
			return err
		}
	}
	return nil
}

// toolError reports why a tool was not called, or that it failed.
type toolError struct {
	answer *invokeAnswer
	name   string
}

func (e *toolError) Error() string { return e.answer.Error.Message }
func (e *toolError) Code() string  { return e.answer.Error.Code }
func (e *toolError) Hint() string {
	if hint := e.answer.Error.Details.Hint; hint != "" {
		return strings.TrimPrefix(e.answer.Error.Details.Field+": "+hint, ": ")
	}
	return "openclawd tools show " + e.name + " shows its arguments; the server's log has the reason of an internal error"
}
