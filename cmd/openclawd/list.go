package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
)

// readFlags select the database that a command reads, and the form of its answer.
type readFlags struct {
	stateDir, db string
	asJSON       bool
}

func (f *readFlags) add(cmd *cobra.Command) {
	addSessionsPlace(cmd, &f.stateDir, &f.db)
	cmd.Flags().BoolVar(&f.asJSON, jsonFlag, false, "print JSON")
}

// listFlags are the flags of a command that lists rows of the database.
type listFlags struct {
	readFlags
	limit int
}

// most is the maximum of --limit.
const most = 1_000

func (f *listFlags) add(cmd *cobra.Command) {
	f.readFlags.add(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "maximum number of results `N`, 1 to 1000")
}

func (f *listFlags) check() error {
	if f.limit < 1 || f.limit > most {
		return &config.SettingError{Setting: "--limit", Value: strconv.Itoa(f.limit), HintText: fmt.Sprintf("give 1 to %d", most)}
	}
	return nil
}

// list is a command's list of T, each of which is an A in JSON.
type list[T, A any] struct {
	read    func(ctx context.Context, tx *sql.Tx) ([]T, error)
	name    string // of the array in JSON
	answer  func(*T) A
	thing   string // a row, in English
	head    []string
	row     func(r *T, now time.Time) []string
	more    *bool // set by read: there is more than --limit allows. nil: a full page means that there may be more
	endless bool  // --limit 0 lists all

	none, noMatch string // instead of an empty table, without and with a filter
	filtered      bool
}

// print reads the list and prints it.
func (l *list[T, A]) print(ctx context.Context, p *process, f *listFlags) error {
	var list []T
	err := p.readSessions(ctx, f.stateDir, f.db, func(tx *sql.Tx) (err error) {
		list, err = l.read(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	if f.asJSON {
		answer := output.List[A]{Name: l.name, Rows: make([]A, len(list)), More: l.more}
		for i := range list {
			answer.Rows[i] = l.answer(&list[i])
		}
		return output.JSON(p.stdout, answer)
	}
	if len(list) == 0 {
		text := l.none
		if l.filtered {
			text = l.noMatch
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	rows, now := make([][]string, len(list)), p.now()
	for i := range list {
		rows[i] = l.row(&list[i], now)
	}
	if err := output.Table(p.stdout, l.head, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, l.count(len(list), f.limit))
	return err
}

// count says how many rows there are, and how to see more.
func (l *list[T, A]) count(n, limit int) string {
	count := output.Count(int64(n), l.thing)
	switch {
	case l.more != nil && *l.more:
		return fmt.Sprintf("showing the first %s; use --limit %d for more", count, most)
	case l.endless && n == limit:
		return fmt.Sprintf("showing the newest %s; use --limit 0 for all", count)
	case l.more == nil && n == limit:
		return fmt.Sprintf("showing the newest %s; use --limit %d for more", count, most)
	}
	return count
}

// itself is the answer of a row that is made for JSON.
func itself[T any](row *T) *T { return row }

// completeFirst completes the first argument of a command.
func completeFirst(list func(context.Context) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFrom completes what read finds in the selected database; nothing without one.
func completeFrom[T any](ctx context.Context, p *process, stateDir, db string, read func(*sql.Tx) ([]T, error), of func(*T) (id, what string)) []cobra.Completion {
	var list []T
	err := p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) (err error) {
		list, err = read(tx)
		return err
	})
	if err != nil {
		return nil
	}
	words := make([]cobra.Completion, len(list))
	for i := range list {
		id, what := of(&list[i])
		words[i] = cobra.CompletionWithDesc(id, what)
	}
	return words
}
