package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// tolerated is how much worse a figure may be before it is marked.
const tolerated = 0.10

type comparison struct {
	options
	old    string // directory of the other commit's programs
	asJSON bool
}

func newCompare() *cobra.Command {
	c := comparison{options: options{Log: os.Stderr}}
	cmd := &cobra.Command{
		Use:   "compare --old DIR [NAME...]",
		Short: "Measure another build and this one by turns",
		Long: fmt.Sprintf(`Runs each part with the programs in a directory (openclawd, and openclawd-bench unless openclawd has it as a command) and with these
by turns: old, new, new, old. RATIO is above 1 where new is better. What is more than %.0f %% worse is marked, and is no failure.`, tolerated*100),
		Example: "  openclawd-bench compare --old /tmp/before/bin append rest --events 500000",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Names = args
			return c.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.old, "old", "", "`DIR` of the programs to compare with")
	flags.IntVar(&c.Rounds, "rounds", 2, "run each part `N` times with either, and take medians")
	flags.IntVar(&c.Events, "events", wholeLog, "size of the big log, `N` events; each run builds it")
	flags.StringVar(&c.Dir, "dir", "", "`DIR` for the files (default: the system's temporary directory)")
	flags.StringVar(&c.Binary, "binary", "", "`FILE` of the new openclawd (default: as without compare)")
	flags.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

func (c *comparison) run(ctx context.Context) (err error) {
	if c.old == "" || c.Rounds < 1 {
		return &usageError{errors.New("--old must name a directory, and --rounds must be at least 1")}
	}
	if c.Binary, err = findBinary(c.Binary); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	before := []string{filepath.Join(c.old, "openclawd-bench"), "--binary", filepath.Join(c.old, "openclawd")}
	if _, err := os.Stat(before[0]); err != nil {
		before = []string{filepath.Join(c.old, "openclawd"), "bench"}
	}
	write := comparisonPrinter(os.Stdout, c.asJSON)
	parts, err := chosen(benchmarks(), c.Names)
	if err != nil {
		return err
	}
	for _, part := range parts {
		rows, err := c.compare(ctx, part.name, before, []string{self, "--binary", c.Binary})
		for i := 0; i < len(rows) && err == nil; i++ {
			err = write(rows[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compare runs a part with both programs by turns. The old one may not have it.
func (c *comparison) compare(ctx context.Context, part string, before, now []string) ([]compared, error) {
	var was, is [][]figure
	for round := range c.Rounds {
		for turn := range 2 {
			program, into := before, &was
			if turn != round%2 {
				program, into = now, &is
			}
			figures, err := c.measure(ctx, program, part)
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitUsage && into == &was {
				fmt.Fprintf(c.Log, "bench: the old program has no %s\n", part)
				err = nil
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", program[0], part, err)
			}
			*into = append(*into, figures)
		}
	}
	return compareFigures(was, is), nil
}

// measure runs one part once.
func (c *comparison) measure(ctx context.Context, program []string, part string) ([]figure, error) {
	args := append(slices.Clone(program[1:]), "--json", "--rounds", "1", "--events", strconv.Itoa(c.Events), part)
	if c.Dir != "" {
		args = append(args, "--dir", c.Dir)
	}
	cmd := exec.CommandContext(ctx, program[0], args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = c.Log
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return readFigures(out)
}

// compared is a figure of both programs. Those that only one has have no ratio.
type compared struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Old   *float64 `json:"old"`
	New   *float64 `json:"new"`
	Ratio float64  `json:"ratio,omitempty"` // above 1: new is better, by its goal
	Worse bool     `json:"worse"`
}

// compareFigures compares the medians of runs.
func compareFigures(was, is [][]figure) (rows []compared) {
	before, after := values{}, values{}
	var each []figure // one of each name
	for _, side := range []struct {
		runs [][]figure
		v    values
	}{{is, after}, {was, before}} {
		for _, f := range slices.Concat(side.runs...) {
			if len(before[f.Name])+len(after[f.Name]) == 0 {
				each = append(each, f)
			}
			side.v.add(f.Name, f.Value)
		}
	}
	for _, f := range each {
		r := compared{Name: f.Name, Unit: f.Unit, Old: middle(before[f.Name]), New: middle(after[f.Name])}
		if r.Old != nil && r.New != nil {
			r.rate(&f)
		}
		rows = append(rows, r)
	}
	return rows
}

// middle returns the median of a list, between the two values in the middle if there are two; nil for an empty list.
func middle(list []float64) *float64 {
	if len(list) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(list))
	m := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return &m
}

// rate sets the ratio. Where a value is not positive, as a difference may be, there is none, and a tenth of the goal
// is too much.
func (r *compared) rate(f *figure) {
	better, worse := *r.New, *r.Old
	if !strings.Contains(f.Goal, ">=") {
		better, worse = worse, better
	}
	if better <= 0 || worse <= 0 {
		r.Worse = worse-better > tolerated*f.Baseline
		return
	}
	r.Ratio = better / worse
	r.Worse = r.Ratio < 1-tolerated
}

func comparisonPrinter(w io.Writer, asJSON bool) func(compared) error {
	if asJSON {
		lines := json.NewEncoder(w)
		return func(r compared) error { return lines.Encode(r) }
	}
	write := rows(w, "%-28s  %-12s  %-12s  %-14s  %-6s  %s", "NAME", "OLD", "NEW", "UNIT", "RATIO", "")
	cell := func(value *float64) string {
		if value == nil {
			return "-"
		}
		return fmt.Sprintf("%.4g", *value)
	}
	return func(r compared) error {
		ratio, mark := "-", ""
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Worse {
			mark = "WORSE"
		}
		return write(r.Name, cell(r.Old), cell(r.New), r.Unit, ratio, mark)
	}
}
