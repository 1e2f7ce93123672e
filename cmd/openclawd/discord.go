package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/routing"
)

func newDiscord(p *process) *cobra.Command {
	return newGroup("discord", "Look at the bots in Discord, their threads, and what they have observed",
		newDiscordBots(p), newDiscordThreads(p), newDiscordObserved(p))
}

func newDiscordBots(p *process) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Say how each bot stands, and what to do about those that are not connected",
		Long: `Says of each bot of channels.discord whether it is connected, for which agent it speaks, and what it lacks. Only the running server knows.

Exit codes: 0 it could be said, whatever it is; 1 it could not.`,
		Example: "  openclawd discord bots\n  openclawd discord bots --state-dir ./team --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordBots(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) discordBots(ctx context.Context, a asking) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	answer, err := place.Bots(ctx)
	switch {
	case err != nil:
		return err
	case a.asJSON:
		return output.JSON(p.stdout, answer)
	}
	return p.writeBots(&answer)
}

func (p *process) writeBots(answer *monitor.BotsAnswer) error {
	if len(answer.Bots) == 0 {
		return p.writeNote(cmp.Or(answer.Note, "no bots run there"))
	}
	now := p.now()
	rows := make([][]string, len(answer.Bots))
	for i := range answer.Bots {
		b := &answer.Bots[i]
		wrong, _ := wrongWith(b)
		rows[i] = []string{b.AccountID, b.AgentID, b.UserName, b.State, ago(now, time.UnixMilli(b.Since)), output.Cut(oneLine(wrong), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"ACCOUNT", "AGENT", "NAME", "STATE", "SINCE", "WHAT IS WRONG"}, rows); err != nil {
		return err
	}
	for i := range answer.Bots {
		b := &answer.Bots[i]
		if wrong, mend := wrongWith(b); wrong != "" {
			if _, err := fmt.Fprintf(p.stdout, "%s: %s; %s\n", output.Printable(b.AccountID), oneLine(wrong), oneLine(mend)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(answer.Bots)), "bot"))
	return err
}

// wrongWith is what keeps a bot from its work, and what to do about it; "" for nothing.
func wrongWith(b *monitor.BotStatus) (wrong, mend string) {
	switch {
	case b.Text != "":
		return b.Text, b.Mend
	case b.Missing != "":
		return b.Missing, b.MissingMend
	case b.AgentID == "":
		return "it speaks for no agent", fmt.Sprintf("add {agentId: ..., match: {channel: \"discord\", accountId: %q}} to bindings", b.AccountID)
	}
	return "", ""
}

// discordListing holds the flags of discord threads and discord observed.
type discordListing struct {
	stateDir, db string
	agent, place string
	all, asJSON  bool
	limit        int
}

const maxDiscord = 1_000 // in one answer

func (l *discordListing) addFlags(p *process, cmd *cobra.Command) {
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	cmd.Flags().StringVar(&l.agent, "agent", "", "`ID` of the agent")
	cmd.Flags().StringVar(&l.place, "place", "", "`ID` of the channel or thread")
	cmd.Flags().IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	cmd.Flags().BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
}

// check refuses flags that cannot be meant.
func (l *discordListing) check() error {
	if l.place != "" && !monitor.IsDiscordID(l.place) {
		return &settings.Error{Setting: "--place", Value: l.place, Mend: "give the id of a channel or thread in Discord, 17 to 20 digits"}
	}
	return checkLimit(l.limit, maxDiscord)
}

func newDiscordThreads(p *process) *cobra.Command {
	var l discordListing
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads with the agents that take part in them, the last spoken in first",
		Long: `Lists the threads of which the log knows, with who takes part in them: those agents handle what is written there without a mention. From the
database; works beside a running server and without one. A thread is suspended while bots have talked too much in it.

Exit codes: 0 they are listed; 1 they could not be; 78 a flag has a wrong value.`,
		Example: "  openclawd discord threads\n  openclawd discord threads --agent eden --json\n  openclawd discord threads --all",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordThreads(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	cmd.Flags().BoolVar(&l.all, "all", false, "list channels and direct messages too")
	return cmd
}

// threadsAnswer is the answer of discord threads.
type threadsAnswer struct {
	Threads []monitor.ThreadAnswer `json:"threads"`
	Count   int                    `json:"count"`
}

func (p *process) discordThreads(ctx context.Context, l *discordListing) error {
	if err := l.check(); err != nil {
		return err
	}
	var list []monitor.ThreadAnswer
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		words, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		q := routing.PlaceQuery{ID: l.place, Threads: !l.all, Agent: strings.ToLower(l.agent), Limit: l.limit}
		list, err = monitor.ThreadsOf(ctx, tx, q, words, p.now().UnixMilli())
		return err
	})
	switch {
	case err != nil:
		return err
	case l.asJSON:
		return output.JSON(p.stdout, threadsAnswer{list, len(list)})
	}
	return p.writeThreads(list, l)
}

func (p *process) writeThreads(list []monitor.ThreadAnswer, l *discordListing) error {
	if len(list) == 0 {
		text := "no threads yet: agents open them with the tool collaborate, and people by writing in one that a bot sees"
		if l.agent+l.place != "" {
			text = "no thread is like that; openclawd discord threads lists all"
		}
		return p.writeNote(text)
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		t := &list[i]
		suspended := ""
		if t.SuspendedUntil != nil {
			suspended = "until " + output.Time(*t.SuspendedUntil) + " (" + t.SuspendedFor + ")"
		}
		rows[i] = []string{t.ID, cmp.Or(t.Use, t.Kind), ago(now, time.UnixMilli(t.LastAt)), participating(t.Participants), suspended,
			output.Cut(oneLine(t.Name), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"THREAD", "KIND", "SPOKEN", "AGENTS", "SUSPENDED", "NAME"}, rows); err != nil {
		return err
	}
	return p.writeHowMany(len(list), l.limit, "thread")
}

// participating names who takes part in a thread, as far as no event says that it does no more.
func participating(list []monitor.ParticipantAnswer) string {
	var names []string
	for i := range list {
		if list[i].Left == nil {
			names = append(names, list[i].AgentID)
		}
	}
	return strings.Join(names, ", ")
}

// writeHowMany says how many things were listed, and how to see more.
func (p *process) writeHowMany(n, limit int, thing string) error {
	line := output.Count(int64(n), thing)
	if n == limit {
		line = fmt.Sprintf("the newest %s; --limit %d lists more", line, maxDiscord)
	}
	_, err := fmt.Fprintln(p.stdout, line)
	return err
}

func newDiscordObserved(p *process) *cobra.Command {
	var l discordListing
	cmd := &cobra.Command{
		Use:   "observed",
		Short: "List what agents have observed, the newest first",
		Long: `Lists what agents have observed in Discord without answering: its runs in that channel or thread are told of it, in short. What is older
than a day is left out. From the database; works beside a running server and without one.

Exit codes: 0 it is listed; 1 it could not be; 78 a flag has a wrong value.`,
		Example: "  openclawd discord observed\n  openclawd discord observed --agent eden --place 1400000000000000002 --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordObserved(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	return cmd
}

// observedAnswer is the answer of discord observed.
type observedAnswer struct {
	Records []monitor.ObservedAnswer `json:"records"`
	Count   int                      `json:"count"`
}

func (p *process) discordObserved(ctx context.Context, l *discordListing) error {
	if err := l.check(); err != nil {
		return err
	}
	var list []monitor.ObservedAnswer
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error {
		words, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		q := routing.ObservedQuery{Agent: strings.ToLower(l.agent), PlaceID: l.place, Since: p.now().Add(-route.HistoryTTL).UnixMilli(), Limit: l.limit}
		list, err = monitor.ObservedOf(ctx, tx, q, words)
		return err
	})
	switch {
	case err != nil:
		return err
	case l.asJSON:
		return output.JSON(p.stdout, observedAnswer{list, len(list)})
	}
	return p.writeObserved(list, l)
}

func (p *process) writeObserved(list []monitor.ObservedAnswer, l *discordListing) error {
	if len(list) == 0 {
		text := "no agent has observed anything in the last day"
		if l.agent+l.place != "" {
			text = "nothing is like that; openclawd discord observed lists all"
		}
		return p.writeNote(text)
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = []string{r.AgentID, r.MessageID, r.Place(), ago(now, time.UnixMilli(r.At)), r.Sender, output.Cut(oneLine(r.Summary), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"AGENT", "MESSAGE", "PLACE", "SENT", "BY", "WHAT"}, rows); err != nil {
		return err
	}
	return p.writeHowMany(len(list), l.limit, "record")
}
