package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// toolCalling holds the flags of tools call.
type toolCalling struct {
	toolbox
	key     string
	timeout time.Duration
}

// defaultToolTime is longer than a flow between agents waits for its first answer.
const defaultToolTime = 6 * time.Minute

const toolsCallPath = "openclawd tools call"

func newToolsCall(p *process) *cobra.Command {
	var c toolCalling
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool of an agent",
		Long: `Has the running gateway call a tool in the name of a session, and prints what the tool says. The arguments are a JSON object: as they stand,
@FILE for those in a file, or - for those on standard input. What gateway.tools.deny of openclaw.json names clients may not call.

With --key a repetition is one: with the same key and the same arguments nothing is done twice, and the answer is that of the first time.

Exit codes: 0 it was done; 1 it was not, or no gateway answers; 2 wrong command line; 75 not now: busy, it took longer than --timeout, or
the connection was lost; 78 the gateway does not let us in.`,
		Example: `  openclawd tools call agents_list
  openclawd tools call sessions_send '{"agentId": "seum", "message": "배포 상태를 알려줘"}' --agent eden
  openclawd tools call sessions_send @ask.json --session agent:eden:main --key ask-1 --json
  echo '{"task": "read the log"}' | openclawd tools call sessions_spawn -`,
		Args: positional(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.callTool(cmd.Context(), c, args, cmd.InOrStdin())
		},
		ValidArgsFunction: p.completeTools(&c.toolbox),
	}
	c.addFlags(p, cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "answer on one line, as the gateway gives it, errors in JSON too"
	flags.StringVar(&c.key, "key", "", "idempotency `KEY`: with the same one nothing is done twice")
	flags.DurationVar(&c.timeout, "timeout", defaultToolTime, "`TIME` to wait for the answer, connecting included")
	return cmd
}

func (p *process) callTool(ctx context.Context, c toolCalling, args []string, stdin io.Reader) error {
	if err := checkTime(c.timeout); err != nil {
		return err
	}
	params := c.meant()
	params["name"] = args[0]
	if len(args) > 1 {
		object, err := toolArguments(args[1], stdin)
		if err != nil {
			return err
		}
		params["args"] = object
	}
	if c.key != "" {
		params["idempotencyKey"] = c.key
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.timeout, &lateError{c.timeout})
	defer stop()
	gateway, err := p.dial(ctx, c.doorway, nil)
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
		return fmt.Errorf("answer of the gateway: %w", err)
	}
	if !answer.OK {
		return answer.refusal(ctx, gateway, c.toolbox, args[0])
	}
	if c.asJSON {
		err = p.writePayload(calling{doorway: c.doorway}, payload)
	} else {
		err = p.writeToolOutput(&answer)
	}
	if err == nil && answer.Output.IsError {
		err = &toolRefusedError{args[0]}
	}
	return err
}

// invokeAnswer is what tools.invoke answers.
type invokeAnswer struct {
	OK     bool
	Output struct {
		Content []struct{ Text string }
		Details json.RawMessage
		IsError bool
	}
	Error struct {
		Code, Message string
		Details       struct{ Field, Mend string }
	}
}

// refusal says why a tool was not called.
func (a *invokeAnswer) refusal(ctx context.Context, gateway *client.Client, b toolbox, name string) error {
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

// codeNoTool is that of a tool which there is not, or which the client may not call.
const codeNoTool = "not_found"

// writeToolOutput writes what a tool says: JSON in lines, everything else as it is, but for what would steer a terminal.
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

// toolError says why a tool was not called, or that it broke.
type toolError struct {
	answer *invokeAnswer
	name   string
}

func (e *toolError) Error() string { return e.answer.Error.Message }
func (e *toolError) Code() string  { return e.answer.Error.Code }
func (e *toolError) Hint() string {
	if mend := e.answer.Error.Details.Mend; mend != "" {
		return strings.TrimPrefix(e.answer.Error.Details.Field+": "+mend, ": ")
	}
	return "openclawd tools show " + e.name + " shows its arguments; why a tool broke is in the log of the server"
}

// toolRefusedError says that a tool could not do it, for the reason that it has told.
type toolRefusedError struct{ name string }

func (e *toolRefusedError) Error() string { return e.name + " has not done it" }
func (e *toolRefusedError) Code() string  { return "tool_refused" }
func (e *toolRefusedError) Hint() string  { return "what it says is on standard output" }

// toolArguments reads the arguments of a tool: text itself, @ and the name of a file, or - for standard input.
func toolArguments(text string, stdin io.Reader) (json.RawMessage, error) {
	where := "the second argument"
	read := []byte(text)
	file, isFile := strings.CutPrefix(text, "@")
	var err error
	switch {
	case text == "-":
		where = "standard input"
		read, err = readArguments(stdin)
	case isFile:
		where = file
		read, err = readArgumentsFile(file)
	}
	if err != nil {
		return nil, &usageError{command: toolsCallPath, err: fmt.Errorf("read arguments: %w", err)}
	}
	if len(read) > maxArguments {
		err := fmt.Errorf("%s is too long: the gateway takes at most %s", output.Printable(where), output.Bytes(maxArguments))
		return nil, &usageError{command: toolsCallPath, err: err}
	}
	var object map[string]json.RawMessage
	err = json.Unmarshal(read, &object)
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, column := position(read, syntax.Offset)
		err = fmt.Errorf("line %d, column %d: %w", line, column, err)
	case errors.As(err, &other):
		err = fmt.Errorf("it is of type %s", other.Value)
	case object == nil:
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, &usageError{command: toolsCallPath, err: fmt.Errorf("%s is no JSON object: %w", output.Printable(where), err)}
	}
	return bytes.TrimSpace(read), nil
}

// maxArguments is how many bytes of arguments a frame of the gateway has room for, beside what else a call has to say.
const maxArguments = protocol.MaxPayload - 64<<10

// readArguments reads no more than shows that it is too much.
func readArguments(from io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(from, maxArguments+1))
}

func readArgumentsFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readArguments(file)
}

// position is where the last of so many bytes of a text stands, in lines and characters from 1.
func position(text []byte, read int64) (line, column int) {
	before := text[:max(min(read, int64(len(text)))-1, 0)]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
