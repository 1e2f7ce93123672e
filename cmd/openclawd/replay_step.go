package main

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/replay/answers"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/replay/debugger"
	"github.com/pronto-lab/openclawd/replay/stepscreen"
)

type replayStepFlags struct {
	db, classifier, at, from, to string
	errorsOnly, asJSON           bool
}

func newReplayStep(p *process) *cobra.Command {
	var s replayStepFlags
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Step through the log event by event, forwards and backwards",
		Long: `Shows an event, its causes and consequences, and the table rows that it changed; keys step to the next or previous one. The tables are rebuilt in
a temporary file; the log is only read, and may be in use. ? lists the keys.

POINT is the number of an event, head, an event id, or a time.

With --json no terminal is needed: each event from --from to --to is one line with its causes, its consequences and the rows that it changed.
--errors shows only events that report a failure.`,
		Example: `  openclawd replay step --at head
  openclawd replay step --json --from 100 --to 120
  openclawd replay step --json --errors | head -1`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return whileHeard(func() error { return p.replayStep(cmd, s) })
		},
	}
	flags := cmd.Flags()
	addPlace(cmd, &s.db)
	addClassifier(cmd, &s.classifier)
	flags.StringVar(&s.at, "at", "1", "`POINT` to start at")
	flags.StringVar(&s.from, "from", "1", "first `POINT`, with --json")
	flags.StringVar(&s.to, "to", "head", "last `POINT`, with --json")
	flags.BoolVar(&s.errorsOnly, "errors", false, "only failures, with --json")
	flags.BoolVar(&s.asJSON, jsonFlag, false, "print JSON, one object per line and event")
	p.completeClassifier(cmd)
	for _, flag := range []string{"at", "from", "to"} {
		p.completeFlag(cmd, flag, completePoints)
	}
	return cmd
}

func (p *process) replayStep(cmd *cobra.Command, s replayStepFlags) (err error) {
	given := cmd.Flags().Changed
	switch {
	case s.asJSON && given("at"):
		return &usageError{cmd.CommandPath(), errors.New("--at requires a terminal: --json takes --from and --to")}
	case !s.asJSON && (given("from") || given("to") || given("errors")):
		return &usageError{cmd.CommandPath(), errors.New("--from, --to and --errors require --json")}
	case !s.asJSON && !output.IsTerminal(p.stdout):
		return &usageError{cmd.CommandPath(), errors.New("not a terminal: give --json")}
	}
	rules, err := parseClassifier(s.classifier)
	if err != nil {
		return err
	}
	log, err := p.openToReplay(cmd.Context(), s.db)
	if err != nil {
		return err
	}
	defer log.Close()
	machine := debugger.New(debugger.Options{Log: log, Rules: rules})
	defer func() { err = errors.Join(err, machine.Close()) }()
	if s.asJSON {
		return p.writeSteps(cmd.Context(), log, machine, s)
	}
	return p.showSteps(cmd.Context(), log, machine, s.at)
}

// showSteps runs the screen until the user closes it.
func (p *process) showSteps(ctx context.Context, log *sqlite.DB, machine *debugger.Machine, point string) error {
	at, err := asof.Resolve(ctx, log, point)
	if err != nil {
		head, headErr := log.Head(ctx)
		if headErr != nil || head.Seq > 0 || point != "1" {
			return errors.Join(err, headErr)
		}
		at = 0 // the first event of an empty log
	}
	screen := stepscreen.New(ctx, log, machine, at)
	_, err = tea.NewProgram(screen, tea.WithContext(ctx), tea.WithOutput(p.stdout), tea.WithoutSignalHandler()).Run()
	screen.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, screen.Err())
}

func (p *process) writeSteps(ctx context.Context, log *sqlite.DB, machine *debugger.Machine, s replayStepFlags) error {
	from, err := p.first(ctx, log, s.from)
	if err != nil {
		return err
	}
	to, err := asof.Resolve(ctx, log, s.to)
	if err != nil {
		return err
	}
	bar := p.eventProgress("step")
	defer bar.end()
	for seq := from; seq <= to; seq++ {
		if s.errorsOnly {
			if seq, err = debugger.Find(ctx, log, seq-1, debugger.Later, debugger.IsTrouble, nil); err != nil {
				return err
			}
			if seq == 0 || seq > to {
				return nil
			}
		}
		if err := machine.Goto(ctx, seq, bar.update); err != nil {
			return err
		}
		bar.end()
		if err := p.writeStep(ctx, machine); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) writeStep(ctx context.Context, machine *debugger.Machine) error {
	step, err := answers.StepOf(ctx, machine)
	if err != nil {
		return err
	}
	return output.JSONLine(p.stdout, step)
}
