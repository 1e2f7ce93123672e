package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// replaying holds the flags of replay.
type replaying struct {
	db, until, out, classifier string
	whatIf, asJSON             bool
	shown                      shownChanges
	serving                    replayServing
}

func newReplay(p *process) *cobra.Command {
	var r replaying
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Make the tables of the past from the log: look at them, compare them, play them again",
		Long: `Folds the log up to POINT into new tables and says how many rows each has. The tables are made in the system's temporary directory
(TMPDIR names another) and thrown away; with --out they stay, as a database of its own with the log up to there, which every command reads
and openclawd serve takes. The log is only read: it works beside a running server.

POINT is the number of an event (seq), head, an event id, or a time: RFC 3339, or a date, which begins in UTC. A time means the last event
recorded until then. 0 is the empty log.

With --diff the whole log is folded by this binary with the rules of --classifier, and the result compared with the tables of the file: what
would change if this binary served it. Rows that differ are listed as in openclawd replay diff. Projections of which the file has another version
are expected to differ, and named. Exit codes: 0 nothing differs; 1 with code differs in JSON: something does.

With --serve a range of events is played again, as if it happened now.`,
		Example: `  openclawd replay --until 4711
  openclawd replay --until 2026-02-20T12:00:00Z --out then.db
  openclawd replay --classifier v1 --diff      # what other rules would make of it
  openclawd replay diff 4700 4711
  openclawd replay step --at 4711
  openclawd replay --serve --speed 10x --from 2026-02-20 --to head`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return whileHeard(func() error { return p.replay(cmd, r) })
		},

		SuggestionsMinimumDistance: nearEnough,
	}
	flags := cmd.Flags()
	addPlace(cmd, &r.db)
	flags.StringVar(&r.until, "until", "head", "`POINT` up to which events count")
	flags.StringVar(&r.out, "out", "", "`FILE` to make: a database that ends there")
	flags.BoolVar(&r.whatIf, "diff", false, "compare with the tables of the file")
	addClassifier(cmd, &r.classifier)
	r.shown.addFlags(p, cmd)
	flags.BoolVar(&r.asJSON, jsonFlag, false, "answer in JSON")
	r.serving.addFlags(flags)
	p.completeClassifier(cmd)
	p.completeFlag(cmd, "until", completePoints)
	cmd.AddCommand(newReplayDiff(p), newReplayStep(p))
	return cmd
}

// completePoints are those that need no look at the log.
func completePoints(context.Context) []cobra.Completion {
	return []cobra.Completion{cobra.CompletionWithDesc("head", "the newest event")}
}

func (p *process) completeClassifier(cmd *cobra.Command) {
	p.completeFlag(cmd, "classifier", func(context.Context) []cobra.Completion {
		return []cobra.Completion{string(coordination.RulesV2), string(coordination.RulesV1)}
	})
}

// whileHeard does what has files to throw away when it has answered. Whoever closes the output early, as head does, has what they want: the command ends
// then, and its files go.
func whileHeard(answer func() error) error {
	signal.Ignore(syscall.SIGPIPE)
	if err := answer(); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

func (p *process) replay(cmd *cobra.Command, r replaying) error {
	rules, err := parseClassifier(r.classifier)
	if err != nil {
		return err
	}
	served, err := r.serving.asked(cmd.Flags())
	switch {
	case err != nil:
		return err
	case served:
		return p.replayServe(cmd.Context(), r.db, rules, r.serving)
	}
	if err := r.check(cmd); err != nil {
		return err
	}
	log, err := p.openToReplay(cmd.Context(), r.db)
	if err != nil {
		return err
	}
	defer log.Close()
	if r.whatIf {
		return p.whatIf(cmd.Context(), log, rules, r)
	}
	return p.replayUntil(cmd.Context(), log, rules, r)
}

// check refuses flags that do not go together.
func (r *replaying) check(cmd *cobra.Command) error {
	changed := func(names ...string) string {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return name
			}
		}
		return ""
	}
	if name := changed("until", "out"); r.whatIf && name != "" {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--diff compares the whole log with the file's tables: leave out --%s", name)}
	}
	if r.out == "" && changed("out") != "" {
		return &settings.Error{Setting: "--out", Mend: "name the file to make, or leave it out"}
	}
	if name := changed("table", "limit"); !r.whatIf && name != "" {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--%s says which differences are listed: give --diff with it", name)}
	}
	return r.shown.check()
}

// openToReplay opens an existing log, also one that an older version has made, beside whoever else has it.
func (p *process) openToReplay(ctx context.Context, flag string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, OlderSchema: true, Now: p.now, Payloads: database.Payloads(path)})
	return db, database.OpenError(path, err)
}

// replayAnswer is the answer in JSON.
type replayAnswer struct {
	Seq             int64                `json:"seq"`
	RecordedAt      int64                `json:"recordedAt"` // of that event, ms since 1970; 0: there is none
	Head            int64                `json:"head"`       // of the log
	Rules           coordination.Rules   `json:"rules"`
	Projections     []projections.Status `json:"projections"`
	Tables          []tableRows          `json:"tables"`
	TookMs          int64                `json:"tookMs"`
	EventsPerSecond int64                `json:"eventsPerSecond"`
	Out             string               `json:"out,omitempty"` // the database that was made
}

type tableRows struct {
	Projection string `json:"projection"`
	Table      string `json:"table"`
	Rows       int64  `json:"rows"`
}

func (p *process) replayUntil(ctx context.Context, log *sqlite.DB, rules coordination.Rules, r replaying) (err error) {
	seq, err := past.Resolve(ctx, log, r.until)
	if err != nil {
		return err
	}
	begun := p.now()
	bar := p.eventProgress("replay")
	state, err := past.Open(ctx, past.Options{Log: log, Rules: rules, Out: r.out}, seq, bar.tell)
	bar.end()
	if err != nil {
		return r.outError(err)
	}
	took := p.now().Sub(begun)
	answer, err := summarize(ctx, state, rules)
	if err != nil {
		return errors.Join(err, state.Discard())
	}
	if err := state.Close(); err != nil {
		return err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	answer.Head, answer.TookMs = head.Seq, took.Milliseconds()
	answer.EventsPerSecond = int64(float64(seq) / max(took, time.Millisecond).Seconds())
	if r.out != "" {
		answer.Out = state.Path()
	}
	if r.asJSON {
		return output.JSON(p.stdout, answer)
	}
	return p.writeReplay(answer)
}

// outError names the setting to which an error of making a file is due.
func (r *replaying) outError(err error) error {
	if r.out == "" {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return &settings.Error{Setting: "--out", Value: r.out, Err: errors.New("there is a file already"), Mend: "name one that is not there: nothing is overwritten"}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return &settings.Error{Setting: "--out", Value: r.out, Err: err, Mend: "name a file in a directory that is there and that you may write to"}
	}
	return err
}

func summarize(ctx context.Context, state *past.State, rules coordination.Rules) (*replayAnswer, error) {
	a := &replayAnswer{Seq: state.Until(), Rules: rules, Tables: []tableRows{}}
	if !state.At.IsZero() {
		a.RecordedAt = state.At.UnixMilli()
	}
	err := state.View(ctx, func(tx *sql.Tx) (err error) {
		if a.Projections, err = projections.List(ctx, tx); err != nil {
			return err
		}
		for _, d := range database.Projections(rules) {
			for _, table := range d.Tables {
				rows := tableRows{Projection: d.Name, Table: table}
				if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&rows.Rows); err != nil {
					return fmt.Errorf("count rows of %s: %w", table, err)
				}
				a.Tables = append(a.Tables, rows)
			}
		}
		return nil
	})
	return a, err
}

func (p *process) writeReplay(a *replayAnswer) error {
	took := time.Duration(a.TookMs) * time.Millisecond
	lines := []string{fmt.Sprintf("the tables as of event %s of %s", output.Thousands(a.Seq), output.Thousands(a.Head))}
	if a.Seq == 0 {
		lines[0] = "the tables of an empty log"
	} else {
		lines[0] += ", recorded " + output.Time(a.RecordedAt)
		lines = append(lines, fmt.Sprintf("%s in %s: %s a second", output.Count(a.Seq, "event"), took, output.Thousands(a.EventsPerSecond)))
	}
	if _, err := fmt.Fprintln(p.stdout, strings.Join(lines, "\n")); err != nil {
		return err
	}
	versions, seqs := map[string]string{}, map[string]string{}
	for _, s := range a.Projections {
		versions[s.Name], seqs[s.Name] = s.Version, strconv.FormatInt(s.Seq, 10)
	}
	rows, empty := [][]string{}, 0
	for _, t := range a.Tables {
		if t.Rows == 0 {
			empty++
			continue
		}
		rows = append(rows, []string{t.Projection, versions[t.Projection], seqs[t.Projection], t.Table, output.Thousands(t.Rows)})
	}
	if len(rows) > 0 {
		if err := output.Table(p.stdout, []string{"PROJECTION", "VERSION", "SEQ", "TABLE", "ROWS"}, rows); err != nil {
			return err
		}
	}
	if empty > 0 {
		if _, err := fmt.Fprintf(p.stdout, "%s without rows\n", output.Count(int64(empty), "table")); err != nil {
			return err
		}
	}
	if a.Out != "" {
		_, err := fmt.Fprintf(p.stdout, "made %s, a database that ends there; every command takes it with --db\n", a.Out)
		return err
	}
	return nil
}
