// Demo-discord plays a script in which agents work together in a Discord thread. It runs the real program; its bots
// connect to a fake Discord in this process, and a script supplies what the agents say. It needs no key, no network
// and no Discord, and leaves no files.
//
// It prints each message and, below it, which agents handled or observed it and why, as GET /api/routing/:messageId
// reports it. With -keep the program goes on after the play until it is interrupted, so that its page can be looked at:
//
//	make demo-discord ARGS="-keep -api 127.0.0.1:42902"
//
// Exit codes: 0 as expected; 1 not as expected; 2 wrong command line.
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
	patience := flags.Duration("patience", 18*time.Second, "time limit for the play")
	api := flags.String("api", "127.0.0.1:0", "`ADDRESS` of the API and of the page")
	keep := flags.Bool("keep", false, "keep the program running after the play, until Ctrl-C")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "usage: demo-discord [-openclawd PATH] [-patience DURATION] [-api ADDRESS] [-keep]")
		return 2
	}
	d := demo{program: *program, api: *api, patience: *patience, keep: *keep}
	if err := d.run(ctx, stdout); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

// demo is what the command line asks for.
type demo struct {
	program  string        // openclawd to ask why; "": none
	api      string        // address of the API
	patience time.Duration // for the play
	keep     bool
}

// run sets up the stage, plays the script, waits if it is to be kept, and cleans up.
func (d *demo) run(ctx context.Context, out io.Writer) error {
	playing, cancel := context.WithTimeoutCause(ctx, d.patience, fmt.Errorf("not finished after %s", d.patience))
	defer cancel()
	s, err := openStage(playing, d.api)
	if err != nil {
		return err
	}
	p := &play{stage: s, out: out, scene: scene()}
	err = p.perform(playing)
	if err == nil && d.program != "" {
		err = p.why(playing, d.program, p.heard[asked])
	}
	if err == nil && d.keep {
		p.keep(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, s.warnings())
	}
	return errors.Join(err, s.close())
}
