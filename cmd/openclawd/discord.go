package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/routing"
)

func newDiscord(p *process) *cobra.Command {
	return newGroup("discord", "Inspect the bots in Discord, their threads, and what they observed",
		newDiscordBots(p), newDiscordThreads(p), newDiscordObserved(p))
}

func newDiscordBots(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Show the state of each bot and how to fix those that are not connected",
		Long: `Shows for each bot of channels.discord whether it is connected, which agent it speaks for, and its problems. Only the running server knows.

Exit codes: 0 shown, whatever the state; 1 failed.`,
		Example: "  openclawd discord bots\n  openclawd discord bots --state-dir ./team --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordBots(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) discordBots(ctx context.Context, a serverFlags) error {
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
		return p.writeNote(cmp.Or(answer.Note, "no bots are running"))
	}
	now := p.now()
	rows := make([][]string, len(answer.Bots))
	for i := range answer.Bots {
		b := &answer.Bots[i]
		wrong, _ := wrongWith(b)
		rows[i] = []string{b.AccountID, b.AgentID, b.UserName, string(b.State), ago(now, time.UnixMilli(b.Since)), output.Cut(oneLine(wrong), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"ACCOUNT", "AGENT", "NAME", "STATE", "SINCE", "PROBLEM"}, rows); err != nil {
		return err
	}
	for i := range answer.Bots {
		b := &answer.Bots[i]
		if wrong, hint := wrongWith(b); wrong != "" {
			if _, err := fmt.Fprintf(p.stdout, "%s: %s; %s\n", output.Printable(b.AccountID), oneLine(wrong), oneLine(hint)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(answer.Bots)), "bot"))
	return err
}

// wrongWith is the problem of a bot and its fix; "" for none.
func wrongWith(b *health.Bot) (wrong, hint string) {
	switch {
	case b.Text != "":
		return b.Text, b.Hint
	case b.Missing != "":
		return b.Missing, b.MissingHint
	case b.AgentID == "":
		return "it speaks for no agent", fmt.Sprintf("add {agentId: ..., match: {channel: \"discord\", accountId: %q}} to bindings", b.AccountID)
	}
	return "", ""
}

type discordListFlags struct {
	listFlags
	agent, place string
	all          bool
}

func (l *discordListFlags) addFlags(p *process, cmd *cobra.Command) {
	l.add(cmd)
	cmd.Flags().StringVar(&l.agent, "agent", "", "`ID` of the agent")
	cmd.Flags().StringVar(&l.place, "place", "", "`ID` of the channel or thread")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
}

// check rejects invalid flags.
func (l *discordListFlags) check() error {
	if l.place != "" && !monitor.IsDiscordID(l.place) {
		return &config.SettingError{Setting: "--place", Value: l.place, HintText: "give the id of a Discord channel or thread, 17 to 20 digits"}
	}
	return l.listFlags.check()
}

func newDiscordThreads(p *process) *cobra.Command {
	var l discordListFlags
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads and their participating agents, most recently active first",
		Long: `Lists the threads in the log with their participants: these agents handle messages in the thread without being mentioned. From the database;
works with or without a running server. A thread is suspended while bots have talked too much in it.

Exit codes: 0 listed; 1 failed; 78 invalid flag.`,
		Example: "  openclawd discord threads\n  openclawd discord threads --agent eden --json\n  openclawd discord threads --all",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordThreads(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	cmd.Flags().BoolVar(&l.all, "all", false, "list channels and direct messages too")
	return cmd
}

func (p *process) discordThreads(ctx context.Context, l *discordListFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	threads := list[monitor.ThreadAnswer, *monitor.ThreadAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) ([]monitor.ThreadAnswer, error) {
			words, err := monitor.WordingOf(ctx, tx, nil)
			if err != nil {
				return nil, err
			}
			q := routing.PlaceQuery{ID: l.place, Threads: !l.all, Agent: strings.ToLower(l.agent), Limit: l.limit}
			return monitor.ThreadsOf(ctx, tx, q, words, p.now().UnixMilli())
		},
		name:     "threads",
		answer:   itself[monitor.ThreadAnswer],
		thing:    "thread",
		none:     "no threads yet: agents open them with the tool collaborate, and people by writing in one that a bot can see",
		noMatch:  "no matching threads; try: openclawd discord threads",
		filtered: l.agent+l.place != "",
		head:     []string{"THREAD", "KIND", "SPOKEN", "AGENTS", "SUSPENDED", "NAME"},
		row: func(t *monitor.ThreadAnswer, now time.Time) []string {
			suspended := ""
			if t.SuspendedUntil != nil {
				suspended = "until " + output.Time(*t.SuspendedUntil) + " (" + t.SuspendedFor + ")"
			}
			return []string{t.ID, cmp.Or(t.Use, t.Kind), ago(now, time.UnixMilli(t.LastAt)), participating(t.Participants), suspended,
				output.Cut(oneLine(t.Name), previewCells)}
		},
	}
	return threads.print(ctx, p, &l.listFlags)
}

// participating lists the current participants of a thread.
func participating(list []monitor.ParticipantAnswer) string {
	var names []string
	for i := range list {
		if list[i].Left == nil {
			names = append(names, list[i].AgentID)
		}
	}
	return strings.Join(names, ", ")
}

func newDiscordObserved(p *process) *cobra.Command {
	var l discordListFlags
	cmd := &cobra.Command{
		Use:   "observed",
		Short: "List what agents observed, newest first",
		Long: `Lists the Discord messages that agents observed without answering; an agent's runs in that channel or thread get them as a summary. Messages
older than a day are left out. From the database; works with or without a running server.

Exit codes: 0 listed; 1 failed; 78 invalid flag.`,
		Example: "  openclawd discord observed\n  openclawd discord observed --agent eden --place 1400000000000000002 --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.discordObserved(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	return cmd
}

func (p *process) discordObserved(ctx context.Context, l *discordListFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	observed := list[monitor.ObservedAnswer, *monitor.ObservedAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) ([]monitor.ObservedAnswer, error) {
			words, err := monitor.WordingOf(ctx, tx, nil)
			if err != nil {
				return nil, err
			}
			q := routing.ObservedQuery{Agent: strings.ToLower(l.agent), PlaceID: l.place, Since: p.now().Add(-route.HistoryTTL).UnixMilli(), Limit: l.limit}
			return monitor.ObservedOf(ctx, tx, q, words)
		},
		name:     "records",
		answer:   itself[monitor.ObservedAnswer],
		thing:    "record",
		none:     "no agent observed anything in the last day",
		noMatch:  "no matching messages; try: openclawd discord observed",
		filtered: l.agent+l.place != "",
		head:     []string{"AGENT", "MESSAGE", "PLACE", "SENT", "BY", "WHAT"},
		row: func(r *monitor.ObservedAnswer, now time.Time) []string {
			return []string{r.AgentID, r.MessageID, r.Place(), ago(now, time.UnixMilli(r.At)), r.Sender, output.Cut(oneLine(r.Summary), previewCells)}
		},
	}
	return observed.print(ctx, p, &l.listFlags)
}
