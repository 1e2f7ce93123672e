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

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/points"
	"github.com/pronto-lab/openclawd/projections/search"
)

type searchFlags struct {
	db                           string
	types, roles, agents, inside []string
	since, until                 string
	limit, offset                int
	relevance, all, asJSON       bool
}

const maxSearchLimit = 10_000

func newSearch(p *process) *cobra.Command {
	var s searchFlags
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Search events by words",
		Long: `Finds the events that contain every word, newest first. Korean words are found without their particles and inside other words, other words by
their beginning, names like task_ab12 or main.go also by their parts. Words in "quotes" must be adjacent; a word after a - must not occur
(write -- before it).

Reads the search file that openclawd serve keeps beside the database; works with or without a running server.`,
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
	flags.StringSliceVar(&s.types, "type", nil, "filter by event `TYPE`s, e.g. a2a.send,task.started")
	flags.StringSliceVar(&s.roles, "role", nil, "`ROLE`s, e.g. conversation.main")
	flags.StringSliceVar(&s.agents, "agent", nil, "filter by `ID`s of agents: sender, recipient or subject")
	flags.StringSliceVar(&s.inside, "work-session", nil, "filter by work session `ID`s")
	flags.StringVar(&s.since, "since", "", "earliest `TIME`, or how long ago: 90m, 24h")
	flags.StringVar(&s.until, "until", "", "latest `TIME`")
	flags.IntVar(&s.limit, "limit", 20, "maximum number of events `N`")
	flags.IntVar(&s.offset, "offset", 0, "skip the first `N`")
	flags.BoolVar(&s.relevance, "relevance", false, "best match first instead of newest")
	flags.BoolVar(&s.all, "all", false, "include internal events (config.*, import.*, ...)")
	flags.BoolVar(&s.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// searchAnswer is the JSON output.
type searchAnswer struct {
	Events    []foundText `json:"events"`
	Total     int64       `json:"total"` // of all matches
	Query     string      `json:"query"`
	SearchSeq int64       `json:"searchSeq"` // the search covers events up to here
	Seq       int64       `json:"seq"`       // head of the log
}

// foundText is an event with the matching text.
type foundText struct {
	points.Event
	Snippet search.Snippet `json:"snippet"`

	record coordination.Record
}

func (p *process) search(ctx context.Context, s searchFlags, text string) error {
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
		return &codedError{text: "no search file at " + path, code: "no_search", err: err,
			hint: "openclawd serve creates it; openclawd events query --grep searches the log itself"}
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
		fmt.Fprintf(p.stderr, "warning: the search file is %s behind the log; openclawd serve updates it\n", output.Count(behind, "event"))
	}
	if s.asJSON {
		return output.JSON(p.stdout, a)
	}
	return p.writeFound(&a, roster)
}

func (p *process) searchQuery(s searchFlags, text string) (q search.Query, err error) {
	if s.limit < 1 || s.limit > maxSearchLimit {
		return q, &config.SettingError{Setting: "--limit", Value: strconv.Itoa(s.limit), HintText: fmt.Sprintf("give 1 to %d", maxSearchLimit)}
	}
	if s.offset < 0 {
		return q, &config.SettingError{Setting: "--offset", Value: strconv.Itoa(s.offset), HintText: "give 0 or more"}
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
		return q, &config.SettingError{Setting: "WORD", Value: text, HintText: invalid.HintText}
	}
	return q, err
}

// read reads the found events. Those redacted since are left out.
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
		_, err := fmt.Fprintf(p.stdout, "no match in %s\n", output.Count(a.SearchSeq, "event"))
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
