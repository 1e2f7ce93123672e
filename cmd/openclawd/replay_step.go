package main

import (
	"context"
	"database/sql"
	"errors"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/cmd/openclawd/step"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/index"
)

// stepping holds the flags of replay step.
type stepping struct {
	db, classifier, at, from, to string
	errorsOnly, asJSON           bool
}

func newReplayStep(p *process) *cobra.Command {
	var s stepping
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Walk through the log event by event, forwards and back",
		Long: `Shows an event, what it came from and led to, and which rows of which tables it changed, and steps to the one after or before it. The
tables are made anew in a file that is thrown away; the log is only read, and may be in use. ? lists the keys.

POINT is the number of an event, head, an event id, or a time.

With --json no terminal is needed: each event from --from to --to is an object on a line, with its causes, what it led to and the rows that it changed.
--errors leaves out all events but those that tell that something went wrong.`,
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
	flags.StringVar(&s.at, "at", "1", "`POINT` to begin at")
	flags.StringVar(&s.from, "from", "1", "first `POINT`, with --json")
	flags.StringVar(&s.to, "to", "head", "last `POINT`, with --json")
	flags.BoolVar(&s.errorsOnly, "errors", false, "only what went wrong, with --json")
	flags.BoolVar(&s.asJSON, jsonFlag, false, "answer in JSON, an object on a line for each event")
	p.completeClassifier(cmd)
	for _, flag := range []string{"at", "from", "to"} {
		p.completeFlag(cmd, flag, completePoints)
	}
	return cmd
}

func (p *process) replayStep(cmd *cobra.Command, s stepping) (err error) {
	given := cmd.Flags().Changed
	switch {
	case s.asJSON && given("at"):
		return &usageError{cmd.CommandPath(), errors.New("--at is for a terminal: --json takes --from and --to")}
	case !s.asJSON && (given("from") || given("to") || given("errors")):
		return &usageError{cmd.CommandPath(), errors.New("--from, --to and --errors are for --json")}
	case !s.asJSON && !output.IsTerminal(p.stdout):
		return &usageError{cmd.CommandPath(), errors.New("this is no terminal: give --json")}
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
	machine := step.New(step.Options{Log: log, Rules: rules})
	defer func() { err = errors.Join(err, machine.Close()) }()
	if s.asJSON {
		return p.writeSteps(cmd.Context(), log, machine, s)
	}
	return p.showSteps(cmd.Context(), log, machine, s.at)
}

// showSteps shows the screen until somebody closes it.
func (p *process) showSteps(ctx context.Context, log *sqlite.DB, machine *step.Machine, point string) error {
	at, err := past.Resolve(ctx, log, point)
	if err != nil {
		head, headErr := log.Head(ctx)
		if headErr != nil || head.Seq > 0 || point != "1" {
			return errors.Join(err, headErr)
		}
		at = 0 // the first event of an empty log
	}
	screen := step.NewScreen(ctx, machine, at)
	_, err = tea.NewProgram(screen, tea.WithContext(ctx), tea.WithOutput(p.stdout), tea.WithoutSignalHandler()).Run()
	screen.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, screen.Err())
}

// stepAnswer is one line of JSON.
type stepAnswer struct {
	Event   eventAnswer      `json:"event"`
	IsError bool             `json:"isError"`
	Error   string           `json:"error,omitempty"` // what went wrong, as far as the event says it
	Causes  []step.Link      `json:"causes"`          // the direct cause first, the first cause last
	Effects []step.Link      `json:"effects"`
	Changes []compare.Change `json:"changes"`
}

func (p *process) writeSteps(ctx context.Context, log *sqlite.DB, machine *step.Machine, s stepping) error {
	from, err := p.first(ctx, log, s.from)
	if err != nil {
		return err
	}
	to, err := past.Resolve(ctx, log, s.to)
	if err != nil {
		return err
	}
	bar := p.eventProgress("step")
	defer bar.end()
	for seq := from; seq <= to; seq++ {
		if s.errorsOnly {
			if seq, err = step.Find(ctx, log, seq-1, step.Later, step.IsTrouble, nil); err != nil {
				return err
			}
			if seq == 0 || seq > to {
				return nil
			}
		}
		if err := machine.Goto(ctx, seq, bar.tell); err != nil {
			return err
		}
		bar.end()
		if err := p.writeStep(ctx, machine); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) writeStep(ctx context.Context, machine *step.Machine) error {
	s, err := machine.Show(ctx)
	if err != nil {
		return err
	}
	var entries map[int64]*index.Entry
	if err := machine.State().View(ctx, func(tx *sql.Tx) (err error) {
		entries, err = index.Entries(ctx, tx, []int64{s.Seq})
		return err
	}); err != nil {
		return err
	}
	return output.JSONLine(p.stdout, stepAnswer{Event: answer(s.Event, entries[s.Seq]), IsError: s.Wrong, Error: s.Trouble,
		Causes: listed(s.Causes), Effects: listed(s.Effects), Changes: listed(s.Changes)})
}

// listed is a list that is [] in JSON where it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
