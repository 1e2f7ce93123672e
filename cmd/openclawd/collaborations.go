package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/responses"
)

type collaborationListFlags struct {
	listFlags
	from, to         string
	status, delivery string
	thread           string
	workSession      string
}

func newCollaborations(p *process) *cobra.Command {
	var l collaborationListFlags
	cmd := &cobra.Command{
		Use:   "collaborations [ID]",
		Short: "List the requests of agents to each other in Discord, or show one",
		Long: `Lists the requests that agents made to each other with the tool collaborate, newest first, with their outcome; ID shows one, with the messages
posted for it. From the database; works with or without a running server.

A request is accepted, then sent, failed, or delivery_unknown: delivery could not be confirmed, and it is never sent again. A sent request
is pending until the other agent answers; it is reminded first, then a person is notified (escalated). A later answer makes it responded_late.

Exit codes: 0 shown; 1 failed, or no request of that id; 78 invalid flag.`,
		Example: `  openclawd collaborations
  openclawd collaborations --status pending --to eden
  openclawd collaborations --delivery delivery_unknown --json
  openclawd collaborations 6bd56a9f-6a84-479f-8127-c4b06365f0b9`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.showCollaboration(cmd.Context(), &l, args[0])
			}
			return p.collaborations(cmd.Context(), &l)
		},
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeCollaborations(ctx, &l) }),
	}
	flags := cmd.Flags()
	l.add(cmd)
	flags.StringVar(&l.from, "from", "", "filter by `ID` of the requesting agent")
	flags.StringVar(&l.to, "to", "", "filter by `ID` of the target agent")
	flags.StringVar(&l.status, "status", "", "filter by `STATUS`: "+strings.Join(monitor.CollaborationStatuses, ", "))
	flags.StringVar(&l.delivery, "delivery", "", "filter by delivery `STATE`: "+strings.Join(monitor.CollaborationDeliveries, ", "))
	flags.StringVar(&l.thread, "thread", "", "filter by thread `ID`")
	flags.StringVar(&l.workSession, "work-session", "", "filter by work session `ID`")
	for flag, words := range map[string][]string{"status": monitor.CollaborationStatuses, "delivery": monitor.CollaborationDeliveries} {
		p.completeFlag(cmd, flag, func(context.Context) []cobra.Completion { return words })
	}
	for _, agent := range []string{"from", "to"} {
		p.completeFlag(cmd, agent, func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	}
	return cmd
}

// query builds the query from the flags.
func (l *collaborationListFlags) query() (q responses.Query, err error) {
	for _, flag := range []struct {
		name, value string
		words       []string
	}{{"--status", l.status, monitor.CollaborationStatuses}, {"--delivery", l.delivery, monitor.CollaborationDeliveries}} {
		if flag.value != "" && !slices.Contains(flag.words, flag.value) {
			return q, &config.SettingError{Setting: flag.name, Value: flag.value, HintText: "choose from " + strings.Join(flag.words, ", ")}
		}
	}
	if l.thread != "" && !coordination.IsPlaceID(l.thread) {
		return q, &config.SettingError{Setting: "--thread", Value: l.thread, HintText: "give the id of a thread: of Discord 17 to 20 digits, else as the lists show it"}
	}
	return responses.Query{From: strings.ToLower(l.from), Target: strings.ToLower(l.to), ThreadID: l.thread, Status: response.Status(l.status),
		Delivery: collaborate.Status(l.delivery), WorkSession: strings.TrimPrefix(l.workSession, "ws:"), Limit: l.limit}, l.check()
}

// filtered reports whether a filter is set.
func (l *collaborationListFlags) filtered() bool {
	return l.from+l.to+l.status+l.delivery+l.thread+l.workSession != ""
}

func (p *process) collaborations(ctx context.Context, l *collaborationListFlags) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	requests := list[monitor.CollaborationAnswer, *monitor.CollaborationAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) (answers []monitor.CollaborationAnswer, err error) {
			words, err := monitor.WordingOf(ctx, tx, nil)
			if err != nil {
				return nil, err
			}
			list, err := responses.List(ctx, tx, q)
			for i := range list {
				answers = append(answers, monitor.CollaborationAnswerOf(&list[i], words))
			}
			return answers, err
		},
		name:     "collaborations",
		answer:   itself[monitor.CollaborationAnswer],
		thing:    "request",
		none:     "no requests yet: agents make them in Discord with the tool collaborate",
		noMatch:  "no matching requests; try: openclawd collaborations",
		filtered: l.filtered(),
		head:     []string{"ID", "WHO", "STATE", "ASKED", "REMINDED", "MESSAGE"},
		row: func(c *monitor.CollaborationAnswer, now time.Time) []string {
			return []string{c.CollabID, c.FromAgent + " → " + c.ToAgent, collaborationState(c), ago(now, time.UnixMilli(c.AcceptedAt)), countOrNone(c.Step),
				output.Cut(oneLine(c.Message), previewCells)}
		},
	}
	return requests.print(ctx, p, &l.listFlags)
}

// collaborationState is the state of a request in one word: of its answer, or else of its delivery.
func collaborationState(c *monitor.CollaborationAnswer) string {
	return cmp.Or(string(c.Status), string(c.Delivery))
}

func (p *process) showCollaboration(ctx context.Context, l *collaborationListFlags, id string) error {
	if l.filtered() {
		return &usageError{command: "openclawd collaborations", err: fmt.Errorf("filters cannot be combined with the ID of a request")}
	}
	var c *monitor.ShownCollaboration
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		words, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		c, err = monitor.CollaborationOf(ctx, tx, id, words)
		return err
	})
	switch {
	case err != nil:
		return err
	case c == nil:
		return unknown("request", id, "no_collaboration", "openclawd collaborations lists the requests")
	case l.asJSON:
		return output.JSON(p.stdout, c)
	}
	return p.writeCollaboration(c)
}

func (p *process) writeCollaboration(shown *monitor.ShownCollaboration) error {
	c := &shown.Collaboration
	state := collaborationState(c)
	if c.Code != "" {
		state += " (" + c.Code + ")"
	}
	answered := timeOrNone(c.RespondedAt)
	if c.AnswerID != "" {
		answered += ", message " + c.AnswerID
	}
	reminded := timeOrNone(c.LastAttemptAt)
	if c.Step > 0 {
		reminded = fmt.Sprintf("%d times, last %s", c.Step, reminded)
	}
	err := p.writePairs(oneLine, [][2]string{{"request", c.CollabID}, {"who", c.FromAgent + " → " + c.ToAgent}, {"state", state}, {"message", c.Message},
		{"thread", strings.TrimSpace(c.ThreadID + " " + c.ThreadName)}, {"chosen as", string(c.Route)}, {"channel", c.ChannelID}, {"session", c.SessionKey},
		{"run", c.RunID}, {"work session", c.WorkSessionID}, {"task", c.TaskID}, {"asked", output.Time(c.AcceptedAt)}, {"sent", timeOrNone(c.SentAt)},
		{"reminded", reminded}, {"answered", answered}, {"link", c.Link}})
	if err != nil || len(shown.Posts) == 0 {
		return err
	}
	rows := make([][]string, len(shown.Posts))
	for i := range shown.Posts {
		post := &shown.Posts[i]
		rows[i] = []string{post.MessageID, post.Purpose, output.Time(post.At), post.AccountID}
	}
	return p.writeBelow([]string{"POSTED", "AS", "AT", "BY ACCOUNT"}, rows)
}

// timeOrNone formats a time, "" for none.
func timeOrNone(ms *int64) string {
	if ms == nil {
		return ""
	}
	return output.Time(*ms)
}

// completeCollaborations completes ids of the newest requests.
func (p *process) completeCollaborations(ctx context.Context, l *collaborationListFlags) (ids []cobra.Completion) {
	const shown = 20
	return completeFrom(ctx, p, l.stateDir, l.db, func(tx *sql.Tx) ([]responses.Row, error) {
		return responses.List(ctx, tx, responses.Query{Limit: shown})
	},
		func(r *responses.Row) (id, what string) {
			return r.ID, r.FromAgent + " → " + r.TargetAgent + " " + cmp.Or(string(r.Status), string(r.Delivery))
		})
}
