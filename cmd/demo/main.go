// Demo plays a script in which agents work together in a thread of a channel: see package demo. With -keep the program
// goes on after the play until it is interrupted, so that its page can be looked at:
//
//	make demo-telegram ARGS="-keep -api 127.0.0.1:42902"
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

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/demo"
	"github.com/pronto-lab/openclawd/sandbox"
)

func main() {
	sandbox.Main()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run plays the script and returns the exit code. Errors have already been printed to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := demo.Options{}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Channel, "channel", coordination.Discord, "`NAME` of the channel: discord, telegram or slack")
	flags.StringVar(&o.Program, "openclawd", "", "`PATH` of openclawd; its answer to \"why\" is printed at the end if given")
	flags.DurationVar(&o.Patience, "patience", 18*time.Second, "time limit for the play")
	flags.StringVar(&o.API, "api", "127.0.0.1:0", "`ADDRESS` of the API and of the page")
	flags.BoolVar(&o.Keep, "keep", false, "keep the program running after the play, until Ctrl-C")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(stderr, "usage: demo [-channel NAME] [-openclawd PATH] [-patience DURATION] [-api ADDRESS] [-keep]")
		return 2
	}
	if err := demo.Run(ctx, o, stdout); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 1
	}
	return 0
}
