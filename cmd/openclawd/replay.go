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

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/replay/asof"
)

type replayFlags struct {
	db, until, out, classifier string
	whatIf, asJSON             bool
	shown                      shownChanges
	serving                    replayServeFlags
}

func newReplay(p *process) *cobra.Command {
	var r replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Rebuild the tables as of an earlier point: inspect, compare, play back",
		Long: `Builds tables from the log up to POINT and reports how many rows each has. The tables are built in the system's temporary directory (set TMPDIR
for another one) and deleted afterwards; with --out they are kept, as a database with the log up to that point, usable by every command and by
openclawd serve. The log is only read: this works alongside a running server.

POINT is the number of an event (seq), head, an event id, or a time: RFC 3339, or a date, meaning its start in UTC. A time selects the last event
recorded up to then. 0 is the empty log.

With --diff tables are built from the whole log by this binary with the rules of --classifier, and compared with the tables of the file: what
would change if this binary served it. Differing rows are listed as in openclawd replay diff. Projections that have another version in the file
are expected to differ, and listed. Exit codes: 0 no differences; 1, in JSON with code differs: differences.

With --serve a range of events is played back as if it happened now.`,
		Example: `  openclawd replay --until 4711
  openclawd replay --until 2026-02-20T12:00:00Z --out then.db
  openclawd replay --classifier v1 --diff      # the effect of other rules
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
	flags.StringVar(&r.until, "until", "head", "last event to include, `POINT`")
	flags.StringVar(&r.out, "out", "", "`FILE` to create: a database that ends there")
	flags.BoolVar(&r.whatIf, "diff", false, "compare with the tables of the file")
	addClassifier(cmd, &r.classifier)
	r.shown.addFlags(p, cmd)
	flags.BoolVar(&r.asJSON, jsonFlag, false, "print JSON")
	r.serving.addFlags(flags)
	p.completeClassifier(cmd)
	p.completeFlag(cmd, "until", completePoints)
	cmd.AddCommand(newReplayDiff(p), newReplayStep(p))
	return cmd
}

// completePoints completes points that need no access to the log.
func completePoints(context.Context) []cobra.Completion {
	return []cobra.Completion{cobra.CompletionWithDesc("head", "the newest event")}
}

func (p *process) completeClassifier(cmd *cobra.Command) {
	p.completeFlag(cmd, "classifier", func(context.Context) []cobra.Completion {
		return []cobra.Completion{string(coordination.RulesV2), string(coordination.RulesV1)}
	})
}

// whileHeard runs a command that has files to delete at its end. If the output is closed early, as head does, the command ends normally and
// its files are deleted.
func whileHeard(answer func() error) error {
	signal.Ignore(syscall.SIGPIPE)
	if err := answer(); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

func (p *process) replay(cmd *cobra.Command, r replayFlags) error {
	rules, err := parseClassifier(r.classifier)
	if err != nil {
		return err
	}
	served, err := r.serving.requested(cmd.Flags())
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

// check rejects flags that cannot be combined.
func (r *replayFlags) check(cmd *cobra.Command) error {
	changed := func(names ...string) string {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return name
			}
		}
		return ""
	}
	if name := changed("until", "out"); r.whatIf && name != "" {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--diff compares the whole log with the file's tables: omit --%s", name)}
	}
	if r.out == "" && changed("out") != "" {
		return &config.SettingError{Setting: "--out", HintText: "name the file to create, or omit it"}
	}
	if name := changed("table", "limit"); !r.whatIf && name != "" {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--%s limits the listed differences: it requires --diff", name)}
	}
	return r.shown.check()
}

// openToReplay opens an existing log, also one of an older schema, which other processes may have open.
func (p *process) openToReplay(ctx context.Context, flag string) (*sqlite.DB, error) {
	path, err := p.databasePath(flag)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true, OlderSchema: true, Now: p.now, Payloads: database.Payloads(path)})
	return db, database.OpenError(path, err)
}

// replayAnswer is the JSON output.
type replayAnswer struct {
	Seq             int64                `json:"seq"`
	RecordedAt      int64                `json:"recordedAt"` // of that event, ms since 1970; 0: none
	Head            int64                `json:"head"`       // of the log
	Rules           coordination.Rules   `json:"rules"`
	Projections     []projections.Status `json:"projections"`
	Tables          []tableRows          `json:"tables"`
	TookMs          int64                `json:"tookMs"`
	EventsPerSecond int64                `json:"eventsPerSecond"`
	Out             string               `json:"out,omitempty"` // the created database
}

type tableRows struct {
	Projection string `json:"projection"`
	Table      string `json:"table"`
	Rows       int64  `json:"rows"`
}

func (p *process) replayUntil(ctx context.Context, log *sqlite.DB, rules coordination.Rules, r replayFlags) (err error) {
	seq, err := asof.Resolve(ctx, log, r.until)
	if err != nil {
		return err
	}
	start := p.now()
	bar := p.eventProgress("replay")
	state, err := asof.Open(ctx, asof.Options{Log: log, Rules: rules, Out: r.out}, seq, bar.update)
	bar.end()
	if err != nil {
		return r.outError(err)
	}
	took := p.now().Sub(start)
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

// outError attributes an error of creating the file to the flag --out.
func (r *replayFlags) outError(err error) error {
	if r.out == "" {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return &config.SettingError{Setting: "--out", Value: r.out, Err: errors.New("the file exists already"), HintText: "name a new file: nothing is overwritten"}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return &config.SettingError{Setting: "--out", Value: r.out, Err: err, HintText: "name a file in an existing directory that you may write to"}
	}
	return err
}

func summarize(ctx context.Context, state *asof.State, rules coordination.Rules) (*replayAnswer, error) {
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
	lines := []string{fmt.Sprintf("tables as of event %s of %s", output.Thousands(a.Seq), output.Thousands(a.Head))}
	if a.Seq == 0 {
		lines[0] = "tables of an empty log"
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
		_, err := fmt.Fprintf(p.stdout, "created %s, a database that ends there; use it with --db\n", a.Out)
		return err
	}
	return nil
}
