package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
)

type eventQueryFlags struct {
	db                               string
	types, roles                     []string
	agent, workSession, conversation string
	grep, since, until               string
	limit                            int
	asJSON                           bool
}

const maxQueryLimit = 100_000

func newEventsQuery(p *process) *cobra.Command {
	var q eventQueryFlags
	cmd := &cobra.Command{
		Use:   "query",
		Short: "List the newest matching events",
		Long: `Lists the newest events that match all given filters, newest last. openclawd's internal events (config.*, import.*, ...) are included.

A time is RFC 3339, a date, milliseconds since 1970, or how long ago: 90m, 24h.`,
		Example: `  openclawd events query --limit 5
  openclawd events query --role conversation.main --since 24h --agent eden
  openclawd events query --type a2a.send,a2a.response --work-session ws_3f0c... --json
  openclawd events query --type import.rejected     # lines that could not be parsed`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.queryEvents(cmd.Context(), q) },
	}
	addPlace(cmd, &q.db)
	flags := cmd.Flags()
	flags.StringSliceVar(&q.types, "type", nil, "filter by event `TYPE`s, e.g. a2a.send,task.started")
	flags.StringSliceVar(&q.roles, "role", nil, "`ROLE`s, e.g. conversation.main")
	flags.StringVar(&q.agent, "agent", "", "filter by `ID` of an agent: sender, recipient or subject")
	flags.StringVar(&q.workSession, "work-session", "", "filter by work session `ID`")
	flags.StringVar(&q.conversation, "conversation", "", "filter by conversation `ID`")
	flags.StringVar(&q.grep, "grep", "", "filter by `TEXT` in the message, case-insensitive")
	flags.StringVar(&q.since, "since", "", "earliest `TIME`")
	flags.StringVar(&q.until, "until", "", "latest `TIME`")
	flags.IntVar(&q.limit, "limit", 20, "maximum number of events `N`")
	flags.BoolVar(&q.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// queryAnswer is the JSON output.
type queryAnswer struct {
	Events []points.Event `json:"events"` // by seq
	Seq    int64          `json:"seq"`    // head of the log
}

func (p *process) queryEvents(ctx context.Context, q eventQueryFlags) error {
	filter, err := p.indexFilter(q)
	if err != nil {
		return err
	}
	log, err := p.openToRead(ctx, q.db)
	if err != nil {
		return err
	}
	defer log.Close()
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	found, err := q.find(ctx, log, filter)
	if err != nil {
		return err
	}
	if err := p.warnOfLag(ctx, log); err != nil {
		return err
	}
	if q.asJSON {
		answers := make([]points.Event, len(found.events))
		for i := range found.events {
			answers[i] = answer(&found.events[i], found.entries[found.events[i].Seq])
		}
		return output.JSON(p.stdout, queryAnswer{Events: answers, Seq: head.Seq})
	}
	return p.writeEvents(found, head.Seq)
}

// indexFilter is the part of a query that the index can answer.
func (p *process) indexFilter(q eventQueryFlags) (filter index.Filter, err error) {
	if q.limit < 1 || q.limit > maxQueryLimit {
		return filter, &config.SettingError{Setting: "--limit", Value: strconv.Itoa(q.limit), HintText: fmt.Sprintf("give 1 to %d", maxQueryLimit)}
	}
	for _, role := range q.roles {
		if !coordination.Role(role).Valid() {
			return filter, &config.SettingError{Setting: "--role", Value: role, HintText: fmt.Sprintf("use one of %v", coordination.Roles())}
		}
	}
	filter = index.Filter{Internal: true, Roles: q.roles, Types: q.types}
	if filter.Since, err = p.parseInstant("--since", q.since); err != nil {
		return filter, err
	}
	filter.Until, err = p.parseInstant("--until", q.until)
	return filter, err
}

// parseInstant parses a time into ms since 1970; nil for none.
func (p *process) parseInstant(flag, s string) (*float64, error) {
	if s == "" {
		return nil, nil
	}
	if ago, err := time.ParseDuration(s); err == nil {
		ms := float64(p.now().Add(-ago).UnixMilli())
		return &ms, nil
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && len(s) > len("2026") {
		instant := float64(ms)
		return &instant, nil
	}
	ms, ok := coordination.ParseTime(s)
	if !ok {
		return nil, &config.SettingError{Setting: flag, Value: s, HintText: "give a time such as 2026-02-20T12:00:00Z, 2026-02-20, 1771588800000 or 24h"}
	}
	return &ms, nil
}

// foundEvents are events, by seq, with their index entries and the team's names.
type foundEvents struct {
	events  []eventstore.Event
	entries map[int64]*index.Entry
	roster  *coordination.Roster
}

// find searches for the newest matching events, page by page from the end of the log, each page in a transaction of its own: a long
// transaction would keep a server from trimming its WAL.
func (q *eventQueryFlags) find(ctx context.Context, log *sqlite.DB, filter index.Filter) (*foundEvents, error) {
	page := 1000
	if !q.needsEvents() {
		page = min(page, q.limit)
	}
	found := &foundEvents{entries: map[int64]*index.Entry{}}
	for before := int64(math.MaxInt64); len(found.events) < q.limit; {
		more := false
		err := log.View(ctx, func(tx *sql.Tx) (err error) {
			if found.roster == nil {
				if found.roster, err = index.Roster(ctx, tx); err != nil {
					return err
				}
			}
			selection, err := index.Select(ctx, tx, filter)
			if err != nil {
				return err
			}
			seqs, err := selection.Newest(ctx, tx, before, page)
			if err != nil || len(seqs) == 0 {
				return err
			}
			more, before = len(seqs) == page, seqs[0]
			events, err := log.EventsIn(ctx, tx, seqs)
			if err != nil {
				return err
			}
			return found.keepMatches(ctx, tx, q, events)
		})
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	slices.Reverse(found.events)
	return found, nil
}

// keepMatches keeps the matches of a page, newest first.
func (f *foundEvents) keepMatches(ctx context.Context, tx *sql.Tx, q *eventQueryFlags, page []eventstore.Event) error {
	var kept []int64
	for _, e := range slices.Backward(page) {
		if len(f.events) == q.limit {
			break
		}
		if q.matches(&e) {
			f.events = append(f.events, e)
			kept = append(kept, e.Seq)
		}
	}
	entries, err := index.Entries(ctx, tx, kept)
	for seq, entry := range entries {
		f.entries[seq] = entry
	}
	return err
}

// needsEvents reports whether part of the query needs the events themselves.
func (q *eventQueryFlags) needsEvents() bool {
	return q.agent != "" || q.workSession != "" || q.conversation != "" || q.grep != ""
}

func (q *eventQueryFlags) matches(e *eventstore.Event) bool {
	if !q.needsEvents() {
		return true
	}
	r := projections.Record(coordination.RulesV2, e)
	return (q.agent == "" || slices.ContainsFunc([]string{r.AgentID, r.From(), r.To()}, func(id string) bool { return strings.EqualFold(id, q.agent) })) &&
		(q.workSession == "" || r.WorkSessionID == q.workSession) &&
		(q.conversation == "" || r.ConversationID == q.conversation) &&
		(q.grep == "" || strings.Contains(strings.ToLower(coordination.MessageText(&r)), strings.ToLower(q.grep)))
}

// warnOfLag warns if the index lacks the newest events.
func (p *process) warnOfLag(ctx context.Context, log *sqlite.DB) error {
	list, err := database.Statuses(ctx, log)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name == index.Definition(coordination.RulesV2).Name && s.Lag > 0 {
			fmt.Fprintf(p.stderr, "warning: the index is at event %d, %s behind the log; openclawd projections list shows why\n",
				s.Seq, output.Count(s.Lag, "event"))
		}
	}
	return nil
}

func (p *process) writeEvents(found *foundEvents, head int64) error {
	const previewRunes = 60
	if len(found.events) == 0 {
		if head == 0 {
			_, err := fmt.Fprintln(p.stdout, "the log is empty: fill it with openclawd import FILE... or openclawd serve --follow")
			return err
		}
		_, err := fmt.Fprintf(p.stdout, "no match among %s\n", output.Count(head, "event"))
		return err
	}
	rows := make([][]string, len(found.events))
	for i := range found.events {
		e := &found.events[i]
		r := projections.Record(coordination.RulesV2, e)
		row := []string{strconv.FormatInt(e.Seq, 10), output.Time(int64(r.Time)), e.Type, "", found.roster.Name(r.From()),
			found.roster.Name(r.To()), coordination.Preview(cmp.Or(coordination.WordsOrText(&r), r.Label, r.Reason), found.roster, previewRunes)}
		if entry := found.entries[e.Seq]; entry != nil {
			row[3] = string(entry.Role)
		}
		rows[i] = row
	}
	return output.Table(p.stdout, []string{"SEQ", "TIME (UTC)", "TYPE", "ROLE", "FROM", "TO", "TEXT"}, rows)
}
