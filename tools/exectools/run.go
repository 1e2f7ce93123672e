package exectools

import (
	"context"
	"io"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
)

// Run runs a command of the configuration to its end as exec runs those of an agent: in its workspace and in the sandbox that a probe has found
// to hold for it. It returns the exit status, and why the command was ended before its time.
func (c *Commands) Run(ctx context.Context, conf *config.Config, agentID string, argv []string, out, errs io.Writer) (exit int, ended string, err error) {
	c.mu.Lock()
	if c.life.Err() != nil {
		c.mu.Unlock()
		return 0, "", errClosing
	}
	c.ending.Add(1)
	c.mu.Unlock()
	defer c.ending.Done()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.life, stop)()
	call := &tools.Call{Caller: tool.Caller{AgentID: agentID}, Config: conf}
	home, dir, err := c.places(call, "")
	if err != nil {
		return 0, "", err
	}
	kind, err := c.sandboxOf(ctx, call, home)
	if err != nil {
		return 0, "", err
	}
	result, err := sandbox.Run(ctx, &sandbox.Command{Kind: kind, Argv: argv, Env: c.environment(home, conf.Tools.Exec.Env, nil), Home: home, Dir: dir,
		Network: conf.Tools.Exec.Network, Image: conf.Tools.Exec.Image, Limits: sandbox.Limits{Disk: conf.Tools.Exec.Disk}, Output: out, Errors: errs})
	return result.Exit, result.Reason, err
}
