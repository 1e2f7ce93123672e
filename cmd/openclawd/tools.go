package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newTools(p *process) *cobra.Command {
	return newGroup("tools", "List and call the tools of agents", newToolsList(p), newToolsShow(p), newToolsCall(p))
}

// toolFlags holds the flags that select the agent and session.
type toolFlags struct {
	gatewayFlags
	session, agent string
}

func (b *toolFlags) addFlags(p *process, cmd *cobra.Command) {
	b.gatewayFlags.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&b.session, "session", "main", "session `KEY` to act in, a bare name for one of the agent's")
	flags.StringVar(&b.agent, "agent", "", "`ID` of the agent (default: the session's, or the default agent)")
	p.completeFlag(cmd, "session", func(ctx context.Context) []cobra.Completion { return p.completeKeys(ctx, b.gatewayFlags) })
	p.completeFlag(cmd, "agent", func(ctx context.Context) []cobra.Completion { return p.completeAgents(ctx, b.gatewayFlags) })
}

// meant returns the request parameters that name the session.
func (b *toolFlags) meant() map[string]any {
	params := map[string]any{"sessionKey": b.session}
	if b.agent != "" {
		params["agentId"] = b.agent
	}
	return params
}

// toolAnswer is a tool in JSON.
type toolAnswer struct {
	Name        string          `json:"name"`
	Label       string          `json:"label"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema,omitempty"`
}

// toolsAnswer is the JSON output of tools list.
type toolsAnswer struct {
	AgentID string       `json:"agentId"`
	Tools   []toolAnswer `json:"tools"`
	Count   int          `json:"count"`
}

func newToolsList(p *process) *cobra.Command {
	var b toolFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools that an agent has in a session",
		Long: `Lists the tools that runs of an agent may call in a session, as reported by the running gateway. Clients such as openclawd tools call may not
call those named by gateway.tools.deny.

Exit codes: 0 done; 1 no gateway answers; 75 and 78 as for openclawd call.`,
		Example: "  openclawd tools list\n  openclawd tools list --agent eden --json\n  openclawd tools list --session agent:eden:main",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listTools(cmd.Context(), b) },
	}
	b.addFlags(p, cmd)
	return cmd
}

func (p *process) listTools(ctx context.Context, b toolFlags) error {
	answer, err := p.toolsOf(ctx, b)
	if err != nil {
		return err
	}
	if b.asJSON {
		return output.JSON(p.stdout, answer)
	}
	if len(answer.Tools) == 0 {
		_, err := fmt.Fprintf(p.stdout, "agent %s has no tools there: see tools.allow, tools.deny and tools.profile of the configuration\n", answer.AgentID)
		return err
	}
	rows := make([][]string, len(answer.Tools))
	for i, t := range answer.Tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		rows[i] = []string{t.Name, t.Label, clip(first, descriptionLetters)}
	}
	if err := output.Table(p.stdout, []string{"TOOL", "LABEL", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s of agent %s\n", output.Count(int64(answer.Count), "tool"), answer.AgentID)
	return err
}

const descriptionLetters = 90

// toolsOf asks the gateway for the tools of a session.
func (p *process) toolsOf(ctx context.Context, b toolFlags) (*toolsAnswer, error) {
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	gateway, err := p.dial(ctx, b.gatewayFlags, nil)
	if err != nil {
		return nil, err
	}
	defer gateway.Close()
	return toolsAt(ctx, gateway, b)
}

func toolsAt(ctx context.Context, gateway *client.Client, b toolFlags) (*toolsAnswer, error) {
	payload, err := askGateway(ctx, gateway, "tools.effective", b.meant())
	if err != nil {
		return nil, err
	}
	var effective struct {
		AgentID string
		Groups  []struct {
			Tools []struct {
				ID, Label, Description string
				InputSchema            json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(payload, &effective); err != nil {
		return nil, fmt.Errorf("decode the gateway's answer: %w", err)
	}
	answer := &toolsAnswer{AgentID: effective.AgentID, Tools: []toolAnswer{}}
	for _, group := range effective.Groups {
		for _, t := range group.Tools {
			answer.Tools = append(answer.Tools, toolAnswer{t.ID, t.Label, t.Description, t.InputSchema})
		}
	}
	answer.Count = len(answer.Tools)
	return answer, nil
}

// askGateway calls a method and converts errors to typed ones.
func askGateway(ctx context.Context, gateway *client.Client, method string, params any) (json.RawMessage, error) {
	payload, err := gateway.Call(ctx, method, params)
	if why := new(protocol.Error); errors.As(err, &why) {
		return nil, &callError{reason: why, unlisted: !slices.Contains(gateway.Hello().Features.Methods, method)}
	}
	if closed := new(client.ClosedError); errors.As(err, &closed) {
		return nil, &lostError{err}
	}
	return payload, err
}

func newToolsShow(p *process) *cobra.Command {
	var b toolFlags
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a tool's description and the schema of its arguments",
		Long: `Shows a tool as models see it, as reported by the running gateway.

Exit codes: 0 done; 1 the agent has no such tool, or no gateway answers; 75 and 78 as for openclawd call.`,
		Example: "  openclawd tools show sessions_send\n  openclawd tools show agents_list --agent eden --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showTool(cmd.Context(), b, args[0]) },
	}
	b.addFlags(p, cmd)
	cmd.ValidArgsFunction = p.completeTools(&b)
	return cmd
}

func (p *process) showTool(ctx context.Context, b toolFlags, name string) error {
	answer, err := p.toolsOf(ctx, b)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(answer.Tools, func(t toolAnswer) bool { return t.Name == name })
	if i < 0 {
		return &noToolError{name: name, agent: answer.AgentID}
	}
	t := &answer.Tools[i]
	if b.asJSON {
		return output.JSON(p.stdout, t)
	}
	if _, err := fmt.Fprintf(p.stdout, "%s: %s\n\n%s\n", t.Name, t.Label, steerless(t.Description)); err != nil || len(t.Schema) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(p.stdout, "\narguments:"); err != nil {
		return err
	}
	return output.JSON(p.stdout, t.Schema)
}

// noToolError reports that an agent has no such tool, or that clients may not call it.
type noToolError struct {
	name, agent string
	closed      bool // the agent has it
}

func (e *noToolError) Error() string {
	if e.closed {
		return fmt.Sprintf("clients may not call %s", e.name)
	}
	return fmt.Sprintf("agent %s has no tool %q there", e.agent, e.name)
}
func (e *noToolError) Code() string { return "no_tool" }
func (e *noToolError) Hint() string {
	if e.closed {
		return fmt.Sprintf("runs of %s may; gateway.tools.deny of openclaw.json excludes clients", e.agent)
	}
	return "openclawd tools list lists its tools"
}

// completeTools completes tool names, if a gateway answers soon.
func (p *process) completeTools(b *toolFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, stop := context.WithTimeout(cmd.Context(), completeTime)
		defer stop()
		if answer, err := p.toolsOf(ctx, *b); err == nil {
			for _, t := range answer.Tools {
				names = append(names, cobra.CompletionWithDesc(t.Name, t.Label))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// checkTime rejects an invalid --timeout.
func checkTime(d time.Duration) error {
	if d <= 0 {
		return &config.SettingError{Setting: "--timeout", Value: d.String(), HintText: "give a duration such as 30s"}
	}
	return nil
}
