package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/points"
	"github.com/pronto-lab/openclawd/replay/answers"
	"github.com/pronto-lab/openclawd/replay/asof"
)

type replayDiffFlags struct {
	db, classifier string
	asJSON         bool
	shown          shownChanges
}

func newReplayDiff(p *process) *cobra.Command {
	var d replayDiffFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the tables at two points of the log",
		Long: `Builds the tables as of both points and lists what was added (+), removed (-) or changed (~) from A to B: the number of rows of each table, then
the rows. Long values are shortened, and empty columns of added and removed rows are left out; --json has everything.

A and B are the number of an event (seq), head, an event id, or a time: RFC 3339, or a date, meaning its start in UTC. 0 is the empty log. The log
is only read: this works alongside a running server.`,
		Example: `  openclawd replay diff 4700 4711
  openclawd replay diff 2026-02-20T12:00:00Z head --table tasks,runs
  openclawd replay diff 0 head --limit 0        # only counts
  openclawd replay diff 4710 4711 --json`,
		Args: positional(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return whileHeard(func() error { return p.replayDiff(cmd.Context(), d, args[0], args[1]) })
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completePoints(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addPlace(cmd, &d.db)
	addClassifier(cmd, &d.classifier)
	d.shown.addFlags(p, cmd)
	cmd.Flags().BoolVar(&d.asJSON, jsonFlag, false, "print JSON")
	p.completeClassifier(cmd)
	return cmd
}

func pointText(d points.Point) string {
	if d.Seq == 0 {
		return "the empty log"
	}
	return fmt.Sprintf("event %s (%s)", output.Thousands(d.Seq), output.Time(d.RecordedAt))
}

func (p *process) replayDiff(ctx context.Context, d replayDiffFlags, from, to string) (err error) {
	rules, err := parseClassifier(d.classifier)
	if err != nil {
		return err
	}
	if err := d.shown.check(); err != nil {
		return err
	}
	log, err := p.openToReplay(ctx, d.db)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := p.stateAt(ctx, log, rules, asof.Dir(log.Path()), from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, before.Close()) }()
	after, err := p.stateAt(ctx, log, rules, asof.Dir(log.Path()), to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.Close()) }()
	answer, err := answers.Between(ctx, before, after, rules, answers.Shown{Tables: d.shown.tables, Limit: d.shown.limit})
	if err != nil {
		return err
	}
	if d.asJSON {
		return output.JSON(p.stdout, answer.Diff)
	}
	if _, err := fmt.Fprintf(p.stdout, "from %s to %s\n", pointText(answer.From), pointText(answer.To)); err != nil {
		return err
	}
	return p.writeDiff(answer.Tables, answer.Rows, nil)
}

// stateAt builds the tables as of a point, from the kept states in a directory; "": from the first event.
func (p *process) stateAt(ctx context.Context, log *sqlite.DB, rules coordination.Rules, kept, point string) (*asof.State, error) {
	seq, err := asof.Resolve(ctx, log, point)
	if err != nil {
		return nil, err
	}
	bar := p.eventProgress("replay to " + point)
	defer bar.end()
	return asof.Open(ctx, asof.Options{Log: log, Rules: rules, Kept: kept}, seq, bar.update)
}
