package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/cmd/openclawd/shell"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// sqlAsking holds the flags of sql.
type sqlAsking struct {
	asking
	format, file, asOf string
	limit              int
	timeout            time.Duration

	limited, timed bool // the flag was given
}

const (
	sqlPath = "openclawd sql"

	defaultSQLTime  = 60 * time.Second
	defaultSQLBytes = 1 << 30 // of an answer on the command line
	tableBytes      = 64 << 20
)

func newSQL(p *process) *cobra.Command {
	var a sqlAsking
	cmd := &cobra.Command{
		Use:   "sql [QUERY]",
		Short: "Ask SQL about the log and its tables, without changing anything",
		Long: `Answers one SELECT, WITH, VALUES or EXPLAIN; docs/schema.md has the views. Whatever is asked, nothing is written, no other file is read, and
time, rows and bytes are bounded. Without QUERY, on a terminal: a shell with history and completion; .help tells more.

While a server has the database, SQL is on there, and OPENCLAWD_ADMIN_TOKEN holds its token, the server is asked, which answers with 10000 rows
at most and within 5 s. Else, and with --timeout or --limit 0, the file itself is read; a backup is read by --db. --as-of asks the tables as they
stood at an event, which are made first.

Exit codes: 0 it was answered; 1 it could not be: the JSON code is sql_refused, sql_error, sql_timeout, sql_too_large or sql_busy; 2 the command
line is wrong; 75 interrupted; 78 a flag has a wrong value, or the server does not take the token.`,
		Example: `  openclawd sql "SELECT work_session, title, outcome FROM v_work_sessions ORDER BY last_ms DESC LIMIT 10"
  openclawd sql --format csv "SELECT * FROM v_events" > events.csv
  openclawd sql --file report.sql --json
  openclawd sql --as-of 2026-02-20 "SELECT count(*) FROM v_agent_tasks WHERE status = 'blocked'"
  openclawd sql`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.limited, a.timed = cmd.Flags().Changed("limit"), cmd.Flags().Changed("timeout")
			return whileHeard(func() error { return p.sql(cmd.Context(), &a, args, cmd.InOrStdin()) })
		},
	}
	a.addFlags(cmd)
	flags := cmd.Flags()
	flags.Lookup(jsonFlag).Usage = "the same as --format json, errors in JSON too"
	flags.StringVar(&a.format, "format", "", "`FORMAT`: "+strings.Join(shell.Modes(), ", ")+" (default table on a terminal, else csv)")
	flags.StringVar(&a.file, "file", "", "read the query from `FILE`; - is standard input")
	flags.StringVar(&a.asOf, "as-of", "", "as things stood at this `POINT`: a seq, an event id, or a time")
	flags.DurationVar(&a.timeout, "timeout", defaultSQLTime, "`TIME` that the answer may take")
	flags.IntVar(&a.limit, "limit", 0, "at most `N` rows; 0: all (default 1000 for a table, else all)")
	p.completeFlag(cmd, "format", func(context.Context) []cobra.Completion { return shell.Modes() })
	return cmd
}

func (p *process) sql(ctx context.Context, a *sqlAsking, args []string, stdin io.Reader) error {
	mode, err := a.mode(p.stdout)
	if err != nil {
		return err
	}
	if err := errors.Join(checkTime(a.timeout), a.check(args)); err != nil {
		return err
	}
	if a.limit < 0 {
		return &settings.Error{Setting: "--limit", Value: strconv.Itoa(a.limit), Mend: "give 1 or more; 0 is all"}
	}
	talks := len(args) == 0 && a.file == ""
	if talks && !isTerminal(stdin) {
		return &usageError{command: sqlPath, err: errors.New("give a query, --file, or a terminal to ask from")}
	}
	statement := strings.Join(args, "")
	if a.file != "" {
		if statement, err = readStatement(a.file, stdin); err != nil {
			return err
		}
	}
	asker, closing, err := p.asker(ctx, a, mode)
	if err != nil {
		return err
	}
	if talks {
		return errors.Join(p.converse(ctx, a, asker, mode), closing())
	}
	return errors.Join(p.answerSQL(ctx, a, asker, mode, statement), closing())
}

func (a *sqlAsking) mode(w io.Writer) (shell.Mode, error) {
	switch {
	case a.asJSON && a.format == "":
		return shell.JSON, nil
	case a.format == "" && output.IsTerminal(w):
		return shell.Table, nil
	case a.format == "":
		return shell.CSV, nil
	}
	mode, known := shell.ModeOf(a.format)
	if !known {
		return "", &settings.Error{Setting: "--format", Value: a.format, Mend: "choose from " + strings.Join(shell.Modes(), ", ")}
	}
	return mode, nil
}

// check refuses what makes no sense together.
func (a *sqlAsking) check(args []string) error {
	var why string
	switch {
	case a.file != "" && len(args) > 0:
		why = "give a query or --file, not both"
	case a.asOf != "" && a.api != "":
		why = "--as-of reads the file, --api asks a server"
	default:
		return nil
	}
	return &usageError{command: sqlPath, err: errors.New(why)}
}

func isTerminal(r io.Reader) bool {
	f, is := r.(*os.File)
	return is && isatty.IsTerminal(f.Fd())
}

// readStatement reads a query, as much of it as one may have and a little more, so that what is too large is refused as that.
func readStatement(name string, stdin io.Reader) (string, error) {
	read := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", &settings.Error{Setting: "--file", Value: name, Err: err, Mend: "name a file with a query, or - for standard input"}
		}
		defer f.Close()
		read = f
	}
	text, err := io.ReadAll(io.LimitReader(read, console.MaxStatement+1))
	if err != nil {
		return "", &settings.Error{Setting: "--file", Value: name, Err: err, Mend: "name a file with a query, or - for standard input"}
	}
	return string(text), nil
}

// rows is how many of an answer are given at most; 0: all.
func (a *sqlAsking) rows(mode shell.Mode) int {
	if !a.limited && mode == shell.Table {
		return shell.DefaultTableRows
	}
	return a.limit
}

// answerSQL writes the answer to one query.
func (p *process) answerSQL(ctx context.Context, a *sqlAsking, asker shell.Asker, mode shell.Mode, statement string) error {
	writer := shell.NewWriter(mode, p.stdout)
	result, err := asker.Query(ctx, console.Question{SQL: statement, Rows: a.rows(mode)}, writer)
	if err != nil {
		return err
	}
	if err := writer.End(result); err != nil {
		return err
	}
	if result.Truncated && mode != shell.Table {
		fmt.Fprintf(p.stderr, "warning: only the first %s; --limit 0 gives all\n", output.Count(int64(result.Rows), "row"))
	}
	return nil
}

// converse asks from the terminal until somebody ends it. Ctrl-C ends only what is being answered.
func (p *process) converse(ctx context.Context, a *sqlAsking, asker shell.Asker, mode shell.Mode) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	tables, err := asker.Schema(ctx)
	if err != nil {
		return err
	}
	history := ""
	if place, err := p.place(a.asking); err == nil {
		history = filepath.Join(place.StateDir, shell.HistoryName)
	}
	terminal := shell.OpenTerminal(history, shell.Words(tables))
	talk := shell.New(shell.Options{Asker: asker, Lines: terminal, Out: p.stdout, Mode: mode, Rows: a.limit, Now: p.now, Interrupts: interrupts})
	return errors.Join(talk.Run(context.WithoutCancel(ctx)), terminal.Close())
}
