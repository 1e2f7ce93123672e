package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

type agentFlags struct {
	gatewayFlags
	agent, session, model, thinking string
	timeout, queueWait              time.Duration
	fresh, whole, detach            bool
}

// Default time limits of a run started from the command line.
const (
	defaultRunTime   = 10 * time.Minute
	defaultQueueWait = 2 * time.Minute
)

// thinkingLevels are the values of --thinking.
func thinkingLevels() []string {
	return []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}
}

func newAgent(p *process) *cobra.Command {
	var t agentFlags
	cmd := &cobra.Command{
		Use:   "agent [MESSAGE]",
		Short: "Send a message to an agent and print its answer as it arrives",
		Long: `Connects to the running gateway, sends a message to an agent in one of its sessions and prints the answer while it is written. The default
is the main session of the default agent. - reads the message from standard input.

Messages to one session are answered one after the other. If the turn has not come after --queue-wait, the message is withdrawn; an answer
that starts at that very moment is stopped. --timeout counts from the start of the answer. Ctrl-C stops the run, and so does closing the
output. With --detach the command ends when the message is on disk; openclawd runs show shows the answer.

If the connection is lost, the command reconnects for up to 10s and goes on waiting for the same run.

The gateway and its token or password are found as openclawd call does.

Exit codes: 0 answered; 1 the model or the run failed, or the connection was lost for good; 2 wrong command line; 75 busy: the message was
rejected or withdrawn; 78 the gateway denies access; 130 stopped with Ctrl-C.`,
		Example: `  openclawd agent "hello" --agent eden
  openclawd agent "배포 상태를 요약해 줘" --session agent:eden:ops --thinking high
  git diff | openclawd agent - --agent eden --new
  openclawd agent "write the report" --agent seum --detach
  openclawd agent "ping" --json`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.agent(cmd.Context(), t, args, cmd.InOrStdin()) },

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	t.addFlags(cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "print one JSON object at the end instead of text; errors in JSON too"
	flags.StringVar(&t.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&t.session, "session", "", "session `KEY`, or a bare name for one of the agent's sessions")
	flags.StringVar(&t.model, "model", "", "model to use instead of the agent's, `PROVIDER/ID`")
	flags.StringVar(&t.thinking, "thinking", "", "thinking `LEVEL`: "+oneOf(thinkingLevels()))
	flags.DurationVar(&t.timeout, "timeout", defaultRunTime, "time limit `TIME` for the answer, not counting the wait for a turn; 0: no limit")
	flags.DurationVar(&t.queueWait, "queue-wait", defaultQueueWait, "time limit `TIME` for the wait for a turn; 0: no limit")
	flags.BoolVar(&t.fresh, "new", false, "reset the session first")
	flags.BoolVar(&t.whole, "no-stream", false, "print the answer only when it is complete")
	flags.BoolVar(&t.detach, "detach", false, "print the id of the run and exit")
	p.completeFlag(cmd, "agent", func(ctx context.Context) []cobra.Completion { return p.completeAgents(ctx, t.gatewayFlags) })
	p.completeFlag(cmd, "session", func(ctx context.Context) []cobra.Completion { return p.completeKeys(ctx, t.gatewayFlags) })
	return cmd
}

func (p *process) agent(ctx context.Context, t agentFlags, args []string, stdin io.Reader) error {
	if err := t.check(); err != nil {
		return err
	}
	message, err := t.message(args, stdin)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // closing the output stops the run, so the command must not end before
	talk := newExchange(p, t, uuid.NewString())
	dialling, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	gateway, err := p.dial(dialling, t.gatewayFlags, talk.receive)
	if err != nil {
		return err
	}
	talk.gateway = gateway
	defer func() { _ = talk.gateway.Close() }() // which may be a different gateway by then
	if t.detach {
		return talk.leave(ctx, message)
	}
	return talk.run(ctx, message)
}

func (t *agentFlags) check() error {
	for flag, value := range map[string]time.Duration{"--timeout": t.timeout, "--queue-wait": t.queueWait} {
		if value < 0 {
			return &config.SettingError{Setting: flag, Value: value.String(), HintText: "give a duration such as 2m, or 0 for no limit"}
		}
	}
	if level := strings.ToLower(t.thinking); level != "" && !slices.Contains(thinkingLevels(), level) {
		return wrongWords("--thinking %q is not a level: give %s", t.thinking, oneOf(thinkingLevels()))
	}
	return nil
}

// oneOf lists choices for an error message.
func oneOf(choices []string) string {
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

func wrongWords(format string, args ...any) error {
	return &usageError{command: "openclawd agent", err: fmt.Errorf(format, args...)}
}

// errTooLong rejects a message that exceeds the gateway's limit.
var errTooLong = errors.New("the message is too long: the limit is 1 MiB")

// message is the text to send; --new alone sends a greeting. Standard input is read only up to the limit of a message.
func (t *agentFlags) message(args []string, stdin io.Reader) (string, error) {
	text := strings.Join(args, "")
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(stdin, run.MaxText+1))
		if err != nil {
			return "", fmt.Errorf("read message: %w", err)
		}
		text = string(read)
	}
	switch {
	case len(text) > run.MaxText:
		return "", errTooLong
	case coordination.TrimJS(text) == "" && !t.fresh:
		return "", wrongWords("the message is empty; - reads it from standard input")
	}
	if t.fresh {
		text = strings.TrimSpace("/new " + text)
	}
	return text, nil
}

// key is the session key as the gateway expects it: a bare name of an agent's session is prefixed with the agent.
func (t *agentFlags) key() string {
	const mainSession = "main"
	switch bare := !strings.HasPrefix(strings.ToLower(t.session), "agent:"); {
	case t.session == "" && t.agent == "":
		return mainSession
	case t.session == "":
		return "agent:" + strings.ToLower(t.agent) + ":" + mainSession
	case bare && t.agent != "":
		return "agent:" + strings.ToLower(t.agent) + ":" + t.session
	}
	return t.session
}

// agentAsk is the parameters of the method agent.
type agentAsk struct {
	Message        string `json:"message"`
	IdempotencyKey string `json:"idempotencyKey"`
	AgentID        string `json:"agentId,omitempty"`
	SessionKey     string `json:"sessionKey,omitempty"`
	Model          string `json:"model,omitempty"`
	Thinking       string `json:"thinking,omitempty"`
	Timeout        int64  `json:"timeout"` // s
}

func (t *agentFlags) ask(runID, message string) agentAsk {
	a := agentAsk{Message: message, IdempotencyKey: runID, AgentID: t.agent, Model: t.model, Thinking: t.thinking,
		Timeout: int64((t.timeout + time.Second - 1) / time.Second)}
	if t.session != "" || t.agent == "" {
		a.SessionKey = t.key()
	}
	return a
}

// completeFlag completes a flag with values from the gateway.
func (p *process) completeFlag(cmd *cobra.Command, flag string, list func(context.Context) []cobra.Completion) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag that does not exist: every test of the command would fail
	}
}

// completeAgents completes agent ids, if a gateway answers soon.
func (p *process) completeAgents(ctx context.Context, d gatewayFlags) (list []cobra.Completion) {
	var answer struct{ Agents []struct{ ID, Name string } }
	p.completeWith(ctx, d, "agents.list", &answer)
	for _, a := range answer.Agents {
		list = append(list, cobra.CompletionWithDesc(a.ID, a.Name))
	}
	return list
}

// completeKeys completes session keys, if a gateway answers soon.
func (p *process) completeKeys(ctx context.Context, d gatewayFlags) (list []cobra.Completion) {
	var answer struct{ Sessions []struct{ Key, Label string } }
	p.completeWith(ctx, d, "sessions.list", &answer)
	for _, s := range answer.Sessions {
		list = append(list, cobra.CompletionWithDesc(s.Key, s.Label))
	}
	return list
}

func (p *process) completeWith(ctx context.Context, d gatewayFlags, method string, into any) {
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	gateway, err := p.dial(ctx, d, nil)
	if err != nil {
		return
	}
	defer gateway.Close()
	if payload, err := gateway.Call(ctx, method, nil); err == nil {
		_ = json.Unmarshal(payload, into) // an answer of unknown shape completes nothing
	}
}
