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

	"github.com/pronto-lab/openclawd/cmd/openclawd/shell"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/output"
)

type sqlFlags struct {
	serverFlags
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
	var a sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [QUERY]",
		Short: "Query the log and its tables with SQL, read-only",
		Long: `Answers one SELECT, WITH, VALUES or EXPLAIN; docs/schema.md describes the views. Nothing is ever written, no other file is read, and time, rows
and bytes are limited. Without QUERY, on a terminal: a shell with history and completion; .help lists its commands.

If a running server has the database, SQL is enabled there, and OPENCLAWD_ADMIN_TOKEN holds its token, the server answers, with at most 10000 rows
and within 5 s. Otherwise, and with --timeout or --limit 0, the file itself is read; use --db for a backup. --as-of queries the tables as of an
event, which are built first.

Exit codes: 0 answered; 1 failed: the JSON code is sql_refused, sql_error, sql_timeout, sql_too_large or sql_busy; 2 wrong command line;
75 interrupted; 78 invalid flag, or the server does not accept the token.`,
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
	flags.Lookup(jsonFlag).Usage = "same as --format json; errors in JSON too"
	flags.StringVar(&a.format, "format", "", "`FORMAT`: "+strings.Join(shell.Modes(), ", ")+" (default table on a terminal, else csv)")
	flags.StringVar(&a.file, "file", "", "read the query from `FILE`; - is standard input")
	flags.StringVar(&a.asOf, "as-of", "", "query the tables as of this `POINT`: a seq, an event id, or a time")
	flags.DurationVar(&a.timeout, "timeout", defaultSQLTime, "time limit `TIME` for the answer")
	flags.IntVar(&a.limit, "limit", 0, "maximum number of rows `N`; 0: all (default 1000 for a table, else all)")
	p.completeFlag(cmd, "format", func(context.Context) []cobra.Completion { return shell.Modes() })
	return cmd
}

func (p *process) sql(ctx context.Context, a *sqlFlags, args []string, stdin io.Reader) error {
	mode, err := a.mode(p.stdout)
	if err != nil {
		return err
	}
	if err := errors.Join(checkTime(a.timeout), a.check(args)); err != nil {
		return err
	}
	if a.limit < 0 {
		return &config.SettingError{Setting: "--limit", Value: strconv.Itoa(a.limit), HintText: "give 1 or more; 0: all"}
	}
	talks := len(args) == 0 && a.file == ""
	if talks && !isTerminal(stdin) {
		return &usageError{command: sqlPath, err: errors.New("give a query, --file, or use a terminal")}
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

func (a *sqlFlags) mode(w io.Writer) (shell.Mode, error) {
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
		return "", &config.SettingError{Setting: "--format", Value: a.format, HintText: "choose from " + strings.Join(shell.Modes(), ", ")}
	}
	return mode, nil
}

// check rejects flags that cannot be combined.
func (a *sqlFlags) check(args []string) error {
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

// readStatement reads a query, a little beyond the size limit, so that one too large is rejected as such.
func readStatement(name string, stdin io.Reader) (string, error) {
	read := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", &config.SettingError{Setting: "--file", Value: name, Err: err, HintText: "name a file with a query, or - for standard input"}
		}
		defer f.Close()
		read = f
	}
	text, err := io.ReadAll(io.LimitReader(read, console.MaxStatement+1))
	if err != nil {
		return "", &config.SettingError{Setting: "--file", Value: name, Err: err, HintText: "name a file with a query, or - for standard input"}
	}
	return string(text), nil
}

// rows is the row limit of an answer; 0: none.
func (a *sqlFlags) rows(mode shell.Mode) int {
	if !a.limited && mode == shell.Table {
		return shell.DefaultTableRows
	}
	return a.limit
}

// answerSQL prints the answer to one query.
func (p *process) answerSQL(ctx context.Context, a *sqlFlags, asker shell.Asker, mode shell.Mode, statement string) error {
	writer := shell.NewWriter(mode, p.stdout)
	result, err := asker.Query(ctx, console.Question{SQL: statement, Rows: a.rows(mode)}, writer)
	if err != nil {
		return err
	}
	if err := writer.End(result); err != nil {
		return err
	}
	if result.Truncated && mode != shell.Table {
		fmt.Fprintf(p.stderr, "warning: only the first %s; use --limit 0 for all\n", output.Count(int64(result.Rows), "row"))
	}
	return nil
}

// converse runs the shell on the terminal. Ctrl-C cancels only the running query.
func (p *process) converse(ctx context.Context, a *sqlFlags, asker shell.Asker, mode shell.Mode) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	tables, err := asker.Schema(ctx)
	if err != nil {
		return err
	}
	history := ""
	if place, err := p.place(a.serverFlags); err == nil {
		history = filepath.Join(place.StateDir, shell.HistoryName)
	}
	terminal := shell.OpenTerminal(history, shell.Words(tables))
	talk := shell.New(shell.Options{Asker: asker, Lines: terminal, Out: p.stdout, Mode: mode, Rows: a.limit, Now: p.now, Interrupts: interrupts})
	return errors.Join(talk.Run(context.WithoutCancel(ctx)), terminal.Close())
}
