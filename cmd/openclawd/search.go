package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/search"
)

// searching holds the flags of search.
type searching struct {
	db                           string
	types, roles, agents, inside []string
	since, until                 string
	limit, offset                int
	relevance, all, asJSON       bool
}

const maxSearchLimit = 10_000

func newSearch(p *process) *cobra.Command {
	var s searching
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find events by their words",
		Long: `Finds the events in which every word is found, the newest first. Korean words are found without their particles and within others,
other words by how they begin, names like task_ab12 or main.go by their parts too. Words in "quotes" follow one another; a word after a -
must not be found (write -- before it).

Reads the search file that openclawd serve keeps beside the database; works beside a running server and without one.`,
		Example: `  openclawd search 배포 실패
  openclawd search '"review failed"' --since 24h
  openclawd search --agent eden -- deploy -staging`,
		Args: positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.search(cmd.Context(), s, strings.Join(args, " "))
		},
	}
	addPlace(cmd, &s.db)
	flags := cmd.Flags()
	flags.StringSliceVar(&s.types, "type", nil, "`TYPE`s of events, e.g. a2a.send,task.started")
	flags.StringSliceVar(&s.roles, "role", nil, "`ROLE`s, e.g. conversation.main")
	flags.StringSliceVar(&s.agents, "agent", nil, "`ID`s of agents that the event comes from, goes to or happened to")
	flags.StringSliceVar(&s.inside, "work-session", nil, "`ID`s of work sessions")
	flags.StringVar(&s.since, "since", "", "earliest `TIME`, or how long ago: 90m, 24h")
	flags.StringVar(&s.until, "until", "", "latest `TIME`")
	flags.IntVar(&s.limit, "limit", 20, "at most `N` events")
	flags.IntVar(&s.offset, "offset", 0, "pass over the first `N`")
	flags.BoolVar(&s.relevance, "relevance", false, "the best first instead of the newest")
	flags.BoolVar(&s.all, "all", false, "our own book-keeping (config.*, import.*, ...) too")
	flags.BoolVar(&s.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// searchAnswer is the answer in JSON.
type searchAnswer struct {
	Events    []foundText `json:"events"`
	Total     int64       `json:"total"` // of all that is found
	Query     string      `json:"query"`
	SearchSeq int64       `json:"searchSeq"` // events up to here are searched
	Seq       int64       `json:"seq"`       // head of the log
}

// foundText is an event with what is found in it.
type foundText struct {
	eventAnswer
	Snippet search.Snippet `json:"snippet"`

	record coordination.Record
}

func (p *process) search(ctx context.Context, s searching, text string) error {
	q, err := p.searchQuery(s, text)
	if err != nil {
		return err
	}
	log, err := p.openToRead(ctx, s.db)
	if err != nil {
		return err
	}
	defer log.Close()
	path := database.SearchFile(log.Path())
	file, err := sqlite.OpenSide(ctx, path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return &noSearchError{path}
	}
	if err != nil {
		return err
	}
	defer file.Close()

	a := searchAnswer{Query: text}
	var hits search.Hits
	err = file.View(ctx, func(tx *sql.Tx) (err error) {
		if a.SearchSeq, err = search.Position(ctx, tx); err != nil {
			return err
		}
		hits, err = search.Find(ctx, tx, q)
		return err
	})
	if err != nil {
		return err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	a.Total, a.Seq = hits.Total, head.Seq
	roster, err := a.read(ctx, log, q.Words, hits.Seqs)
	if err != nil {
		return err
	}
	if behind := a.Seq - a.SearchSeq; behind > 0 {
		fmt.Fprintf(p.stderr, "warning: the search file is %s behind the log; openclawd serve brings it up\n", output.Count(behind, "event"))
	}
	if s.asJSON {
		return output.JSON(p.stdout, a)
	}
	return p.writeFound(&a, roster)
}

func (p *process) searchQuery(s searching, text string) (q search.Query, err error) {
	if s.limit < 1 || s.limit > maxSearchLimit {
		return q, &settings.Error{Setting: "--limit", Value: strconv.Itoa(s.limit), Mend: fmt.Sprintf("give 1 to %d", maxSearchLimit)}
	}
	if s.offset < 0 {
		return q, &settings.Error{Setting: "--offset", Value: strconv.Itoa(s.offset), Mend: "give 0 or more"}
	}
	q = search.Query{Roles: s.roles, Types: s.types, Agents: s.agents, Sessions: s.inside, Internal: s.all, Relevance: s.relevance,
		Limit: s.limit, Offset: s.offset}
	if q.Since, err = p.parseInstant("--since", s.since); err != nil {
		return q, err
	}
	if q.Until, err = p.parseInstant("--until", s.until); err != nil {
		return q, err
	}
	q.Words, err = search.ParseWords(text)
	var invalid *eventstore.InvalidError
	if errors.As(err, &invalid) {
		return q, &settings.Error{Setting: "WORD", Value: text, Mend: invalid.Mend}
	}
	return q, err
}

// read reads the events that were found. What has been redacted since is left out.
func (a *searchAnswer) read(ctx context.Context, log *sqlite.DB, words search.Words, seqs []int64) (roster *coordination.Roster, err error) {
	a.Events = []foundText{}
	err = log.View(ctx, func(tx *sql.Tx) error {
		if roster, err = index.Roster(ctx, tx); err != nil {
			return err
		}
		events, err := log.EventsIn(ctx, tx, seqs)
		if err != nil {
			return err
		}
		entries, err := index.Entries(ctx, tx, seqs)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			if e.Redacted() {
				a.Total--
				continue
			}
			r := projections.Record(coordination.RulesV2, e)
			a.Events = append(a.Events, foundText{answer(e, entries[e.Seq]), words.SnippetOf(&r, roster), r})
		}
		return nil
	})
	return roster, err
}

func (p *process) writeFound(a *searchAnswer, roster *coordination.Roster) error {
	if len(a.Events) == 0 {
		_, err := fmt.Fprintf(p.stdout, "nothing found in %s\n", output.Count(a.SearchSeq, "event"))
		return err
	}
	rows := make([][]string, len(a.Events))
	for i := range a.Events {
		e := &a.Events[i]
		rows[i] = []string{strconv.FormatInt(e.Seq, 10), output.Time(int64(e.record.Time)), e.Type, roster.Name(e.record.From()),
			roster.Name(e.record.To()), e.Snippet.Text}
	}
	if err := output.Table(p.stdout, []string{"SEQ", "TIME (UTC)", "TYPE", "FROM", "TO", "TEXT"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "%s of %s\n", output.Thousands(int64(len(a.Events))), output.Count(a.Total, "event"))
	return err
}

// noSearchError says that there is no search file beside a database.
type noSearchError struct{ path string }

func (e *noSearchError) Error() string { return "there is no search file at " + e.path }
func (e *noSearchError) Unwrap() error { return fs.ErrNotExist }
func (e *noSearchError) Code() string  { return "no_search" }
func (e *noSearchError) Hint() string {
	return "openclawd serve makes it; openclawd events query --grep looks through the log itself"
}
