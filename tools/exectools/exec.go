package exectools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/internal/subprocess"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/effects"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	usualYield = 10 * time.Second
	maxYield   = 2 * time.Minute
	// maxTimeout bounds the timeout that a call may ask for.
	maxTimeout = 24 * time.Hour
)

type execArguments struct {
	Command    string
	Workdir    string
	Env        map[string]string
	YieldMs    *float64
	Background bool
	Timeout    float64
	Elevated   bool
	Host       string
}

func (c *Commands) exec(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[execArguments](call)
	if err != nil {
		return tool.Output{}, err
	}
	if args.Elevated || args.Host == "gateway" || args.Host == "node" {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/host", Text: "commands run in the sandbox only", Hint: "leave out elevated and host"}
	}
	home, dir, err := c.places(call, args.Workdir)
	if err != nil {
		return tool.Output{}, err
	}
	env, err := c.environmentOf(call, home, args.Env)
	if err != nil {
		return tool.Output{}, err
	}
	if err := fits(args.Command, env); err != nil {
		return tool.Output{}, err
	}
	kind, err := c.sandboxOf(ctx, call, home)
	if err != nil {
		return tool.Output{}, err
	}
	timeout := call.Config.Tools.Exec.Timeout
	if args.Timeout > 0 {
		timeout = time.Duration(min(args.Timeout, maxTimeout.Seconds()) * float64(time.Second))
	}
	p, err := c.start(call, effects.CallID(ctx), args.Command, timeout, &sandbox.Command{Kind: kind, Argv: []string{shell(), "-c", args.Command}, Env: env, Home: home,
		Dir: dir, Network: call.Config.Tools.Exec.Network, Image: call.Config.Tools.Exec.Image, Limits: sandbox.Limits{Disk: call.Config.Tools.Exec.Disk}})
	if err != nil {
		return tool.Output{}, err
	}
	return p.yield(ctx, &args)
}

// yield waits for the end of a new command, or for as long as the caller wants.
func (p *process) yield(ctx context.Context, args *execArguments) (tool.Output, error) {
	wait := usualYield
	if args.YieldMs != nil {
		wait = min(time.Duration(*args.YieldMs)*time.Millisecond, maxYield)
	}
	if args.Background {
		wait = 0
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		p.owner.forget(p)
		return p.ended()
	case <-ctx.Done():
		p.running.Kill(sandbox.EndedByCaller)
		<-p.done
		p.owner.forget(p)
		return tool.Output{}, &tools.UnknownOutcomeError{Reason: "stopped", Err: ctx.Err()}
	case <-timer.C:
	}
	p.leave()
	text := p.out.unseen()
	return tool.Output{Text: fmt.Sprintf("%s\n[the command is still running as session %s; use process to poll, write to or kill it]", text, p.id)}, nil
}

// notStarted is the error about a command that had no effect.
func notStarted(err error) error {
	return &tool.Error{Code: tool.CodeUnavailable, Text: fmt.Sprintf("the command was not started: %.500v", err), Hint: "try a shorter command, or later"}
}

// ended is the answer about a command that has ended.
func (p *process) ended() (tool.Output, error) {
	result, err := p.running.Result()
	if errors.Is(err, sandbox.ErrNotRun) {
		return tool.Output{}, notStarted(err)
	}
	if err != nil {
		return tool.Output{}, fmt.Errorf("run the command: %w", err)
	}
	text := p.out.unseen()
	if text = strings.TrimRight(text, "\n"); text == "" {
		text = "(no output)"
	}
	switch {
	case result.Reason != "":
		text += fmt.Sprintf("\n[the command was ended: %s]", result.Reason)
	case result.Exit != 0:
		text += fmt.Sprintf("\n[exit status %d]", result.Exit)
	}
	return tool.Output{Text: text, IsError: result.Exit != 0 || result.Reason != ""}, nil
}

// maxStarted bounds a command with its environment, in bytes. The plan with both is one string of an environment, which Linux limits to 128 KiB.
const maxStarted = 96 << 10

// fits checks that a command can be started. Text counts as it is written in the plan, which has more bytes for some characters.
func fits(command string, env []string) error {
	text, err := tools.Encode(map[string]any{"command": command, "env": env})
	if err != nil {
		return err
	}
	if strings.Contains(command, "\x00") {
		return &tool.Error{Code: tool.CodeInvalid, Field: "/command", Text: "command has a NUL character", Hint: "leave it out"}
	}
	if len(text) > maxStarted {
		return &tool.Error{Code: tool.CodeInvalid, Field: "/command", Text: fmt.Sprintf("the command and its variables have %d bytes, and may have %d", len(text), maxStarted),
			Hint: "write a script to a file of the workspace, and run that"}
	}
	return nil
}

func shell() string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// places returns the workspace, which is made if necessary, and the directory in it where a command starts.
func (c *Commands) places(call *tools.Call, workdir string) (home, dir string, err error) {
	home = c.opts.Workspace(call.AgentID)
	if home == "" {
		return "", "", &tool.Error{Code: tool.CodeUnavailable, Text: "the agent has no workspace", Hint: "set agents.defaults.workspace"}
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", "", fmt.Errorf("create the workspace: %w", err)
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return "", "", fmt.Errorf("find the workspace: %w", err)
	}
	if err := workspace.Separate(home, c.opts.Protected()); err != nil {
		return "", "", &tool.Error{Code: tool.CodeUnavailable, Text: "the workspace holds files of openclawd itself, so no command is run in it: " + err.Error(),
			Hint: "give the agent a directory of its own in workspace"}
	}
	dir = workdir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home, dir)
	}
	outside := &tool.Error{Code: tool.CodeOutside, Field: "/workdir", Text: fmt.Sprintf("workdir is %.200q, which is not a directory in the workspace", workdir),
		Hint: "give a directory in the workspace, relative to it"}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", "", outside
	}
	below, err := filepath.Rel(home, dir)
	if info, stat := os.Stat(dir); err != nil || stat != nil || !info.IsDir() || !filepath.IsLocal(below) {
		return "", "", outside
	}
	return home, dir, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// maxEnvironment bounds the variables of a call, in bytes.
const maxEnvironment = 32 << 10

// environmentOf is what a command gets: a few variables, those that the configuration allows, and those of the call.
func (c *Commands) environmentOf(call *tools.Call, home string, own map[string]string) ([]string, error) {
	bytes := 0
	for name, value := range own {
		bytes += len(name) + len(value)
		if !variable.MatchString(name) || strings.HasPrefix(name, "OPENCLAWD_") || strings.Contains(value, "\x00") || bytes > maxEnvironment {
			return nil, &tool.Error{Code: tool.CodeInvalid, Field: "/env", Text: fmt.Sprintf("env has %.100q, which is not a variable, or too many bytes", name),
				Hint: "use letters, digits and _, and at most 32 KiB"}
		}
	}
	return c.environment(home, call.Config.Tools.Exec.Env, own), nil
}

func (c *Commands) environment(home string, allowed []string, own map[string]string) []string {
	all := subprocess.Environment(home, allowed, c.opts.Getenv)
	all["USER"] = cmp.Or(all["USER"], "agent")
	maps.Copy(all, own)
	return subprocess.List(all)
}

var errClosing = errors.New("openclawd is stopping")
