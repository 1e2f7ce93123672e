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

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	decide "github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/response"
)

// collaborationListing holds the flags of collaborations.
type collaborationListing struct {
	stateDir, db     string
	from, to         string
	status, delivery string
	thread           string
	workSession      string
	limit            int
	asJSON           bool
}

func newCollaborations(p *process) *cobra.Command {
	var l collaborationListing
	cmd := &cobra.Command{
		Use:   "collaborations [ID]",
		Short: "List what agents have asked of each other in Discord, or show one request",
		Long: `Lists the requests that agents have put to each other with the tool collaborate, the newest first, with what became of them; ID shows one, with
what was posted for it. From the database; works beside a running server and without one.

A request is accepted, then sent, failed, or delivery_unknown: then nobody can tell whether it stands there, and it is never sent again. One that was sent
is pending until the other agent answers; it is reminded, and then a person is told (escalated). An answer after that is responded_late.

Exit codes: 0 it is shown; 1 it could not be, or there is none of that id; 78 a flag has a wrong value.`,
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
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeCollaborations(cmd.Context(), &l), cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringVar(&l.from, "from", "", "`ID` of the agent that has asked")
	flags.StringVar(&l.to, "to", "", "`ID` of the agent that was asked")
	flags.StringVar(&l.status, "status", "", "only of this `STATUS`: "+strings.Join(monitor.CollaborationStatuses, ", "))
	flags.StringVar(&l.delivery, "delivery", "", "only of this `STATE`: "+strings.Join(monitor.CollaborationDeliveries, ", "))
	flags.StringVar(&l.thread, "thread", "", "`ID` of the thread")
	flags.StringVar(&l.workSession, "work-session", "", "`ID` of the work session")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	for flag, words := range map[string][]string{"status": monitor.CollaborationStatuses, "delivery": monitor.CollaborationDeliveries} {
		p.completeFlag(cmd, flag, func(context.Context) []cobra.Completion { return words })
	}
	for _, agent := range []string{"from", "to"} {
		p.completeFlag(cmd, agent, func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	}
	return cmd
}

// query reads what is asked for.
func (l *collaborationListing) query() (q response.Query, err error) {
	for _, flag := range []struct {
		name, value string
		words       []string
	}{{"--status", l.status, monitor.CollaborationStatuses}, {"--delivery", l.delivery, monitor.CollaborationDeliveries}} {
		if flag.value != "" && !slices.Contains(flag.words, flag.value) {
			return q, &settings.Error{Setting: flag.name, Value: flag.value, Mend: "choose from " + strings.Join(flag.words, ", ")}
		}
	}
	if l.thread != "" && !monitor.IsDiscordID(l.thread) {
		return q, &settings.Error{Setting: "--thread", Value: l.thread, Mend: "give the id of a thread in Discord, 17 to 20 digits"}
	}
	return response.Query{From: strings.ToLower(l.from), Target: strings.ToLower(l.to), ThreadID: l.thread, Status: decide.Status(l.status),
		Delivery: collaborate.Status(l.delivery), WorkSession: strings.TrimPrefix(l.workSession, "ws:"), Limit: l.limit}, checkLimit(l.limit, maxDiscord)
}

// filtered reports whether something of all there is was asked for.
func (l *collaborationListing) filtered() bool {
	return l.from+l.to+l.status+l.delivery+l.thread+l.workSession != ""
}

// collaborationsAnswer is the answer of collaborations.
type collaborationsAnswer struct {
	Collaborations []monitor.CollaborationAnswer `json:"collaborations"`
	Count          int                           `json:"count"`
}

func (p *process) collaborations(ctx context.Context, l *collaborationListing) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	answer := collaborationsAnswer{Collaborations: []monitor.CollaborationAnswer{}}
	err = p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		words, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		list, err := response.List(ctx, tx, q)
		for i := range list {
			answer.Collaborations = append(answer.Collaborations, monitor.CollaborationAnswerOf(&list[i], words))
		}
		return err
	})
	answer.Count = len(answer.Collaborations)
	switch {
	case err != nil:
		return err
	case l.asJSON:
		return output.JSON(p.stdout, answer)
	}
	return p.writeCollaborations(answer.Collaborations, l)
}

func (p *process) writeCollaborations(list []monitor.CollaborationAnswer, l *collaborationListing) error {
	if len(list) == 0 {
		text := "no agent has asked another one in Discord yet: they do with the tool collaborate"
		if l.filtered() {
			text = "no request is like that; openclawd collaborations lists all"
		}
		return p.writeNote(text)
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		c := &list[i]
		rows[i] = []string{c.CollabID, c.FromAgent + " → " + c.ToAgent, collaborationState(c), ago(now, time.UnixMilli(c.AcceptedAt)), countOrNone(c.Step),
			output.Cut(oneLine(c.Message), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"ID", "WHO", "STATE", "ASKED", "REMINDED", "MESSAGE"}, rows); err != nil {
		return err
	}
	return p.writeHowMany(len(list), l.limit, "request")
}

// collaborationState is how a request stands, in one word: how the answer does, or else the request itself.
func collaborationState(c *monitor.CollaborationAnswer) string {
	return cmp.Or(string(c.Status), string(c.Delivery))
}

func (p *process) showCollaboration(ctx context.Context, l *collaborationListing, id string) error {
	if l.filtered() {
		return &usageError{command: "openclawd collaborations", err: fmt.Errorf("flags that select requests make no sense with the ID of one")}
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
		return &noCollaborationError{id}
	case l.asJSON:
		return output.JSON(p.stdout, c)
	}
	return p.writeCollaboration(c)
}

// noCollaborationError says that nobody knows a request.
type noCollaborationError struct{ id string }

func (e *noCollaborationError) Error() string { return fmt.Sprintf("there is no request %q", e.id) }
func (e *noCollaborationError) Code() string  { return "no_collaboration" }
func (e *noCollaborationError) Hint() string  { return "openclawd collaborations lists them" }

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
	err := p.writePairs([][2]string{{"request", c.CollabID}, {"who", c.FromAgent + " → " + c.ToAgent}, {"state", state}, {"message", c.Message},
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

// timeOrNone is a time for people, "" for none.
func timeOrNone(ms *int64) string {
	if ms == nil {
		return ""
	}
	return output.Time(*ms)
}

// completeCollaborations lists the newest requests of the database.
func (p *process) completeCollaborations(ctx context.Context, l *collaborationListing) (ids []cobra.Completion) {
	const shown = 20
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		list, err := response.List(ctx, tx, response.Query{Limit: shown})
		for i := range list {
			r := &list[i]
			ids = append(ids, cobra.CompletionWithDesc(r.ID, r.FromAgent+" → "+r.TargetAgent+" "+cmp.Or(string(r.Status), string(r.Delivery))))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
