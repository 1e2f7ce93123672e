// Openclawd remembers and serves what a team of LLM agents does: one event log in one SQLite file, the tables made of it, and on
// top the Task-Monitor API and the OpenClaw gateway.
//
// Exit codes: 0 done; 1 it failed; 2 the command line is wrong; 75 another openclawd has the file, or it was busy or interrupted; 78 a
// setting is wrong; 130 a run of an agent was stopped from the keyboard.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, &process{
		name:   os.Args[0],
		args:   os.Args[1:],
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		now:    time.Now,
	}))
}

// run executes one command line and returns the exit code. Errors have been reported on p.stderr by then.
func run(ctx context.Context, p *process) int {
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
