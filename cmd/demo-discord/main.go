// Demo-discord plays how agents work together in a Discord thread: the real program, with bots that connect to a Discord in this process, and agents
// that speak by a script. It needs no key, no network and no Discord, and leaves nothing behind.
//
// It prints who writes what and, after each message, which agents handled it, which observed it, and why, as GET /api/routing/:messageId has it.
// Exit codes: 0 it came out as it should; 1 it did not; 2 the command line is wrong.
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
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run plays, and returns the exit code. Errors have been reported on stderr by then.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo-discord", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("openclawd", "", "`PATH` of openclawd, whose answer to \"why\" is shown at the end; without it that is left out")
	patience := flags.Duration("patience", 18*time.Second, "how long all of it may take")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "usage: demo-discord [-openclawd PATH] [-patience DURATION]")
		return 2
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *patience, fmt.Errorf("it was not over after %s", *patience))
	defer cancel()
	if err := demonstrate(ctx, stdout, *program); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

// demonstrate sets the stage, plays, and clears everything away.
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
