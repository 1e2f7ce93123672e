// Demo-discord plays a script in which agents work together in a Discord thread. It runs the real program; its bots
// connect to a fake Discord in this process, and a script supplies what the agents say. It needs no key, no network
// and no Discord, and leaves no files.
//
// It prints each message and, below it, which agents handled or observed it and why, as GET /api/routing/:messageId
// reports it. Exit codes: 0 as expected; 1 not as expected; 2 wrong command line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run plays the script and returns the exit code. Errors have already been printed to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo-discord", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("openclawd", "", "`PATH` of openclawd; its answer to \"why\" is printed at the end if given")
	patience := flags.Duration("patience", 18*time.Second, "time limit for the whole demo")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "usage: demo-discord [-openclawd PATH] [-patience DURATION]")
		return 2
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *patience, fmt.Errorf("not finished after %s", *patience))
	defer cancel()
	if err := demonstrate(ctx, stdout, *program); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

// demonstrate sets up the stage, plays the script, and cleans up.
func demonstrate(ctx context.Context, out io.Writer, program string) error {
	s, err := openStage(ctx)
	if err != nil {
		return err
	}
	p := &play{stage: s, out: out, scene: scene()}
	err = p.perform(ctx)
	if err == nil && program != "" {
		err = p.why(ctx, program, p.heard[asked])
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, s.warnings())
	}
	return errors.Join(err, s.close())
}
