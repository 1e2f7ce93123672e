// Openclawd records and serves what a team of LLM agents does: one event log in one SQLite file, tables projected
// from it, the Task-Monitor API and the OpenClaw gateway.
//
// Exit codes: 0 done; 1 failed; 2 wrong command line; 75 another openclawd has locked the file, or it was busy or
// interrupted; 78 invalid setting; 130 stopped with Ctrl-C.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pronto-lab/openclawd/mcp/samplemcp"
	"github.com/pronto-lab/openclawd/sandbox"
)

func main() {
	sandbox.Main()
	samplemcp.Main()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	os.Exit(execute(ctx, &process{
		name:   os.Args[0],
		args:   os.Args[1:],
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		now:    time.Now,
	}))
}

// execute executes one command line and returns the exit code. Errors have already been printed to p.stderr.
func execute(ctx context.Context, p *process) int {
	root := newRoot(p)
	root.SetArgs(p.args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		p.report(err)
	}
	return exitCode(err)
}
