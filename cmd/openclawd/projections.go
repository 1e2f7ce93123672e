package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
)

// projectionNames are the names for shell completion.
func projectionNames() (names []string) {
	for _, d := range database.Projections(coordination.RulesV2) {
		names = append(names, d.Name)
	}
	return names
}

func newProjections(p *process) *cobra.Command {
	return newGroup("projections", "List, rebuild and resume projections",
		newProjectionsList(p), newProjectionsRebuild(p), newProjectionsResume(p))
}

func newProjectionsList(p *process) *cobra.Command {
	var (
		db     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "Show the position and state of each projection",
		Example: "  openclawd projections list\n  openclawd projections list --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			list, err := database.Statuses(cmd.Context(), log)
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(p.stdout, list)
			}
			return p.writeStatuses(list)
		},
	}
	addPlace(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func (p *process) writeStatuses(list []projections.Status) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no projection has run on this file yet; try: openclawd projections rebuild --all")
		return err
	}
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{s.Name, string(s.Kind), s.Version, string(s.State), strconv.FormatInt(s.Seq, 10), strconv.FormatInt(s.Lag, 10)}
	}
	if err := output.Table(p.stdout, []string{"NAME", "KIND", "VERSION", "STATE", "SEQ", "LAG"}, rows); err != nil {
		return err
	}
	for _, s := range list {
		if s.State == projections.Parked {
			fmt.Fprintf(p.stdout, "%s is parked since %s at event %d: %s\n  hint: openclawd projections resume %s\n",
				s.Name, output.Time(s.ParkedAt), s.ParkedSeq, s.ParkedError, s.Name)
		}
	}
	return nil
}

func newProjectionsRebuild(p *process) *cobra.Command {
	var (
		r   rebuildFlags
		all bool
	)
	cmd := &cobra.Command{
		Use:   "rebuild NAME... | --all",
		Short: "Rebuild projections from the whole log",
		Long: `Builds new tables from the whole log and swaps them in atomically; the old ones stay in use until then, and if the rebuild is interrupted. Stop
a running server first: it locks the file. A server automatically rebuilds tables made by another version of openclawd.`,
		ValidArgs: projectionNames(),
		Example:   "  openclawd projections rebuild --all\n  openclawd projections rebuild conversation --classifier v1",
		Args: positional(func(_ *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return errors.New("name projections, or give --all")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, names []string) error { return p.rebuild(cmd.Context(), r, names) },
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "rebuild every projection")
	return cmd
}

func newProjectionsResume(p *process) *cobra.Command {
	var r rebuildFlags
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a parked projection",
		Long: `A projection that could not apply an event is parked, and the log goes on without it. Resuming rebuilds it from the whole log: no event is ever
applied out of order.`,
		ValidArgs: projectionNames(),
		Example:   "  openclawd projections resume conversation",
		Args:      positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			log, err := p.openToRead(cmd.Context(), r.db)
			if err != nil {
				return err
			}
			list, err := database.Statuses(cmd.Context(), log)
			if err := errors.Join(err, log.Close()); err != nil {
				return err
			}
			at := slices.IndexFunc(list, func(s projections.Status) bool { return s.Name == names[0] })
			if at >= 0 && list[at].State == projections.Live {
				_, err := fmt.Fprintf(p.stdout, "%s is live: nothing to resume\n", names[0])
				return err
			}
			return p.rebuild(cmd.Context(), r, names)
		},
	}
	r.addFlags(cmd)
	return cmd
}

type rebuildFlags struct{ db, classifier string }

func (r *rebuildFlags) addFlags(cmd *cobra.Command) {
	addPlace(cmd, &r.db)
	addClassifier(cmd, &r.classifier)
}

// rebuild rebuilds the named projections, or all.
func (p *process) rebuild(ctx context.Context, r rebuildFlags, names []string) error {
	rules, err := parseClassifier(r.classifier)
	if err != nil {
		return err
	}
	log, err := p.openExisting(ctx, r.db, "projections rebuild")
	if err != nil {
		return err
	}
	defer log.Close()
	engine, err := projections.Start(ctx, log, database.Projections(rules), projections.Options{Rules: rules, Now: p.now})
	if err != nil {
		return err
	}
	bar := p.eventProgress("rebuild")
	err = engine.Rebuild(ctx, projections.RebuildOptions{Names: names, Progress: bar.update})
	bar.end()
	if err != nil {
		return err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = engine.Names()
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(p.stdout, "rebuilt %s from %s\n", name, output.Count(head.Seq, "event")); err != nil {
			return err
		}
	}
	return log.Close()
}

// addClassifier adds the --classifier flag to a command that builds tables.
func addClassifier(cmd *cobra.Command, classifier *string) {
	cmd.Flags().StringVar(classifier, "classifier", string(coordination.RulesV2),
		"classifier `RULES` for roles and categories: v2, or v1 for those of the reference Task-Monitor")
}

func parseClassifier(s string) (coordination.Rules, error) {
	rules, err := coordination.ParseRules(s)
	if err != nil {
		return "", &config.SettingError{Setting: "--classifier", Value: s, HintText: "use v1 or v2"}
	}
	return rules, nil
}
