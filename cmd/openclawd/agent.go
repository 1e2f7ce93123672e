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

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
)

// talking holds the flags of agent.
type talking struct {
	doorway
	agent, session, model, thinking string
	timeout, queueWait              time.Duration
	anew, whole, detach             bool
}

// Times of a run that is asked for from a command line, unless flags say otherwise.
const (
	defaultRunTime   = 10 * time.Minute
	defaultQueueWait = 2 * time.Minute
)

// thinkingLevels are what --thinking takes.
func thinkingLevels() []string {
	return []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}
}

func newAgent(p *process) *cobra.Command {
	var t talking
	cmd := &cobra.Command{
		Use:   "agent [MESSAGE]",
		Short: "Say something to an agent and print its answer as it comes",
		Long: `Connects to the running gateway, says something to an agent in one of its sessions and prints the answer while it is written. Without
--agent and --session that is the main session of the default agent. - reads the message from standard input.

Messages to one session are answered one after the other. Whoever has waited for --queue-wait takes the message back; an answer that
begins in that very moment is stopped. The time of --timeout begins when it is answered. Ctrl-C stops the run, and so does whoever closes
the output. With --detach the command ends when the message is on disk; openclawd runs show tells of the answer.

Where the connection is lost, the command connects again if the gateway is back within 10s, and goes on waiting for the same run.

The gateway is found, and shown a token or a password, as openclawd call does.

Exit codes: 0 it was answered; 1 the model or the run failed, or the connection was lost for good; 2 wrong command line; 75 busy: the
message was not taken, or taken back; 78 the gateway does not let us in; 130 stopped with Ctrl-C.`,
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
	flags.Lookup(jsonFlag).Usage = "print one JSON object at the end instead of text, errors in JSON too"
	flags.StringVar(&t.agent, "agent", "", "`ID` of the agent")
	flags.StringVar(&t.session, "session", "", "`KEY` of the session, or a bare name for one of the agent's")
	flags.StringVar(&t.model, "model", "", "model to ask instead of the agent's, `PROVIDER/ID`")
	flags.StringVar(&t.thinking, "thinking", "", "how hard to think, `LEVEL`: "+oneOf(thinkingLevels()))
	flags.DurationVar(&t.timeout, "timeout", defaultRunTime, "`TIME` that the answer may take, waiting for a turn not counted; 0: no bound")
	flags.DurationVar(&t.queueWait, "queue-wait", defaultQueueWait, "`TIME` to wait for a turn; 0: as long as it takes")
	flags.BoolVar(&t.anew, "new", false, "begin the session anew before")
	flags.BoolVar(&t.whole, "no-stream", false, "print the answer when all of it is there")
	flags.BoolVar(&t.detach, "detach", false, "print the id of the run and leave")
	p.completeFlag(cmd, "agent", func(ctx context.Context) []cobra.Completion { return p.completeAgents(ctx, t.doorway) })
	p.completeFlag(cmd, "session", func(ctx context.Context) []cobra.Completion { return p.completeKeys(ctx, t.doorway) })
	return cmd
}

func (p *process) agent(ctx context.Context, t talking, args []string, stdin io.Reader) error {
	if err := t.check(); err != nil {
		return err
	}
	message, err := t.message(args, stdin)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // whoever closes the output stops the run: this must not end before
	talk := newTalk(p, t, uuid.NewString())
	dialling, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	gateway, err := p.dial(dialling, t.doorway, talk.hear)
	if err != nil {
		return err
	}
	talk.gateway = gateway
	defer func() { _ = talk.gateway.Close() }() // which may be another one by then
	if t.detach {
		return talk.leave(ctx, message)
	}
	return talk.hold(ctx, message)
}

func (t *talking) check() error {
	for flag, value := range map[string]time.Duration{"--timeout": t.timeout, "--queue-wait": t.queueWait} {
		if value < 0 {
			return &settings.Error{Setting: flag, Value: value.String(), Mend: "give a time such as 2m, or 0 for no bound"}
		}
	}
	if level := strings.ToLower(t.thinking); level != "" && !slices.Contains(thinkingLevels(), level) {
		return wrongWords("--thinking %q is no level: give %s", t.thinking, oneOf(thinkingLevels()))
	}
	return nil
}

// oneOf names choices to people.
func oneOf(choices []string) string {
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

func wrongWords(format string, args ...any) error {
	return &usageError{command: "openclawd agent", err: fmt.Errorf(format, args...)}
}

// errTooLong refuses a message that no gateway takes.
var errTooLong = errors.New("the message is too long: 1 MiB at most")

// message is what is said: --new alone is a greeting. Of the standard input no more is read than a message may have.
func (t *talking) message(args []string, stdin io.Reader) (string, error) {
	text := strings.Join(args, "")
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(stdin, coordrun.MaxText+1))
		if err != nil {
			return "", fmt.Errorf("read message: %w", err)
		}
		text = string(read)
	}
	switch {
	case len(text) > coordrun.MaxText:
		return "", errTooLong
	case coordination.TrimJS(text) == "" && !t.anew:
		return "", wrongWords("say something: the message is empty; - reads it from standard input")
	}
	if t.anew {
		text = strings.TrimSpace("/new " + text)
	}
	return text, nil
}

// key is the session as the gateway is told it, an agent's bare names with their agent.
func (t *talking) key() string {
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

// agentAsk are the parameters of agent.
type agentAsk struct {
	Message        string `json:"message"`
	IdempotencyKey string `json:"idempotencyKey"`
	AgentID        string `json:"agentId,omitempty"`
	SessionKey     string `json:"sessionKey,omitempty"`
	Model          string `json:"model,omitempty"`
	Thinking       string `json:"thinking,omitempty"`
	Timeout        int64  `json:"timeout"` // s
}

func (t *talking) ask(runID, message string) agentAsk {
	a := agentAsk{Message: message, IdempotencyKey: runID, AgentID: t.agent, Model: t.model, Thinking: t.thinking,
		Timeout: int64((t.timeout + time.Second - 1) / time.Second)}
	if t.session != "" || t.agent == "" {
		a.SessionKey = t.key()
	}
	return a
}

// completeFlag has a shell complete a flag with what the gateway tells.
func (p *process) completeFlag(cmd *cobra.Command, flag string, list func(context.Context) []cobra.Completion) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag that is not there: no test of the command would pass
	}
}

// completeAgents lists the agents of a gateway that soon answers.
func (p *process) completeAgents(ctx context.Context, d doorway) (list []cobra.Completion) {
	var answer struct{ Agents []struct{ ID, Name string } }
	p.completeWith(ctx, d, "agents.list", &answer)
	for _, a := range answer.Agents {
		list = append(list, cobra.CompletionWithDesc(a.ID, a.Name))
	}
	return list
}

// completeKeys lists the sessions of a gateway that soon answers.
func (p *process) completeKeys(ctx context.Context, d doorway) (list []cobra.Completion) {
	var answer struct{ Sessions []struct{ Key, Label string } }
	p.completeWith(ctx, d, "sessions.list", &answer)
	for _, s := range answer.Sessions {
		list = append(list, cobra.CompletionWithDesc(s.Key, s.Label))
	}
	return list
}

func (p *process) completeWith(ctx context.Context, d doorway, method string, into any) {
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	gateway, err := p.dial(ctx, d, nil)
	if err != nil {
		return
	}
	defer gateway.Close()
	if payload, err := gateway.Call(ctx, method, nil); err == nil {
		_ = json.Unmarshal(payload, into) // an answer of another shape completes nothing
	}
}
