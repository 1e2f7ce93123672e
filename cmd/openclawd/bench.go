package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/bench"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// benching holds the flags of bench.
type benching struct {
	events, rounds int
	dir            string
	asJSON         bool
}

func newBench(p *process) *cobra.Command {
	var b benching
	long := "Measures openclawd against plain baselines in the same run, and says which goals it meets. Ratios hold across machines; figures do not.\n\n"
	for _, m := range bench.Benchmarks() {
		long += fmt.Sprintf("  %-13s %s\n", m.Name, m.Doc)
	}
	cmd := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Measure speed and memory, each against its own baseline",
		Long:  long + "\nThe whole run takes some minutes and up to 8 GB of disk. A missed goal is shown, it is no failure.",
		Example: `  openclawd bench                              # everything, on a log of 1,000,000 events
  openclawd bench append lookup --json
  openclawd bench rest --events 100000 --rounds 1`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.bench(cmd.Context(), b, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&b.events, "events", 1_000_000, "size of the big log, `N` events")
	flags.IntVar(&b.rounds, "rounds", 3, "take medians over `N` rounds")
	flags.StringVar(&b.dir, "dir", "", "`DIR` for the files (default: the system's temporary directory)")
	flags.BoolVar(&b.asJSON, "json", false, "print JSON")
	return cmd
}

func (p *process) bench(ctx context.Context, b benching, names []string) error {
	if b.events < 1000 || b.rounds < 1 {
		return &usageError{command: "openclawd bench", err: errors.New("--events must be at least 1000 and --rounds at least 1")}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	results, err := bench.Run(ctx, bench.Options{Names: names, Events: b.events, Rounds: b.rounds, Dir: b.dir, Binary: self, Log: p.stderr})
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(results))
	for _, r := range results {
		verdict := "ok"
		if !r.OK {
			verdict = "MISSED"
		}
		rows = append(rows, []string{r.Name, fmt.Sprintf("%.4g %s", r.Value, r.Unit), fmt.Sprintf("%.4g", r.Baseline), fmt.Sprintf("%.3g", r.Ratio), r.Goal, verdict})
	}
	if b.asJSON {
		return output.JSON(p.stdout, results)
	}
	return output.Table(p.stdout, []string{"NAME", "VALUE", "BASELINE", "RATIO", "GOAL", ""}, rows)
}
