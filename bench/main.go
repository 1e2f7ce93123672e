// Openclawd-bench measures openclawd against baselines of its own in the same run, on the same disk: absolute
// figures of a shared machine mean little, ratios hold. Every baseline does the same in the simplest realistic way.
//
// Exit codes: 0 measured, whether or not every goal was met; 1 failed; 2 wrong command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "error: %s\n", err)
	if _, wrong := errors.AsType[*usageError](err); wrong {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func newCommand() *cobra.Command {
	o := options{Log: os.Stderr}
	var asJSON bool
	long := "Measures openclawd against plain baselines in the same run, and reports which goals are met. Ratios hold across machines; figures do not.\n\n"
	for _, m := range benchmarks() {
		long += fmt.Sprintf("  %-13s %s\n", m.name, m.doc)
	}
	cmd := &cobra.Command{
		Use:   "openclawd-bench [NAME...]",
		Short: "Measure speed and memory, each against its own baseline",
		Long:  long + "\nThe whole run takes some minutes and up to 8 GB of disk. A missed goal is reported but is no failure.",
		Example: `  openclawd-bench                              # everything, on a log of 1,000,000 events
  openclawd-bench append lookup --json
  openclawd-bench rest --events 100000 --rounds 1
  openclawd-bench fill --out /tmp/team         # only the log, to look at it with serve --follow`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return measure(cmd.Context(), o, asJSON)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	flags := cmd.Flags()
	flags.IntVar(&o.Events, "events", 1_000_000, "size of the big log, `N` events")
	flags.IntVar(&o.Rounds, "rounds", 3, "take medians over `N` rounds")
	flags.StringVar(&o.Dir, "dir", "", "`DIR` for the files (default: the system's temporary directory)")
	flags.StringVar(&o.Binary, "binary", "", "`FILE` of the openclawd to measure as a process (default: openclawd beside this program, or bin/openclawd)")
	flags.StringVar(&o.Profile, "profile", "", "write a CPU profile of this process, without the servers that it starts, to `FILE`")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(newFill(), newCompare(), newToolServer())
	return cmd
}

func measure(ctx context.Context, o options, asJSON bool) (err error) {
	if o.Events < 1000 || o.Rounds < 1 {
		return &usageError{errors.New("--events must be at least 1000 and --rounds at least 1")}
	}
	if o.Binary, err = findBinary(o.Binary); err != nil {
		return err
	}
	parts, err := chosen(benchmarks(), o.Names)
	if err != nil {
		return err
	}
	o.Report = printer(os.Stdout, asJSON)
	if o.Profile != "" {
		stop, err := profile(o.Profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	return runAll(ctx, o, parts)
}

// profile writes a CPU profile to a file until stop.
func profile(path string) (stop func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// findBinary returns the path of the openclawd to measure: the one given, or the first that exists.
func findBinary(named string) (string, error) {
	if named != "" {
		return exec.LookPath(named)
	}
	name := "openclawd"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, path := range []string{filepath.Join(filepath.Dir(self), name), filepath.Join("bin", name)} {
		if path, err := exec.LookPath(path); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("no openclawd to measure; make build builds bin/openclawd, and --binary FILE names another one")
}
