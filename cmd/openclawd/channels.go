package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// newChannels is a group of commands about a channel; "" is all, which the flag --channel narrows. bots names the first one.
func newChannels(p *process, channel, where, bots string) *cobra.Command {
	return newGroup(cmp.Or(channel, "channels"), "Inspect the bots in "+where+", their threads, and what they observed",
		newBots(p, channel, bots), newThreads(p, channel), newObserved(p, channel))
}

func newBots(p *process, channel, name string) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   name,
		Short: "Show the state of each bot and how to fix those that are not connected",
		Long: `Shows for each configured bot whether it is connected, which agent it speaks for, and its problems. Only the running server knows.

Exit codes: 0 shown, whatever the state; 1 failed.`,
		Example: example("openclawd %s %s\n  openclawd %[1]s %[2]s --state-dir ./team --json", channel, name),
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.bots(cmd.Context(), a, channel) },
	}
	a.addFlags(cmd)
	addChannelFlag(cmd, &channel)
	return cmd
}

// example fills in the group's name.
func example(form, channel string, more ...any) string {
	return fmt.Sprintf("  "+form, append([]any{cmp.Or(channel, "channels")}, more...)...)
}

// addChannelFlag adds --channel to the commands about all channels.
func addChannelFlag(cmd *cobra.Command, channel *string) {
	if *channel == "" {
		cmd.Flags().StringVar(channel, "channel", "", "only this `CHANNEL`: discord, telegram or slack")
	}
}

func checkChannel(channel string) error {
	if c, known := coordination.ChannelNamed(channel); !known || channel != "" && channel != c.Name {
		return &config.SettingError{Setting: "--channel", Value: channel, HintText: "choose from discord, telegram, slack"}
	}
	return nil
}

func (p *process) bots(ctx context.Context, a serverFlags, channel string) error {
	if err := checkChannel(channel); err != nil {
		return err
	}
	place, err := p.place(a)
	if err != nil {
		return err
	}
	answer, err := place.Bots(ctx, channel)
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
	rows, problems := make([][]string, len(answer.Bots)), ""
	for i := range answer.Bots {
		b := &answer.Bots[i]
		wrong, hint := b.Problem()
		if wrong != "" {
			problems += fmt.Sprintf("%s %s: %s; %s\n", b.Channel, output.Printable(b.AccountID), oneLine(wrong), oneLine(hint))
		}
		rows[i] = []string{b.Channel, b.AccountID, b.AgentID, b.UserName, string(b.State), ago(now, time.UnixMilli(b.Since)), output.Cut(oneLine(wrong), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"CHANNEL", "ACCOUNT", "AGENT", "NAME", "STATE", "SINCE", "PROBLEM"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.stdout, problems+output.Count(int64(len(answer.Bots)), "bot"))
	return err
}

type channelListFlags struct {
	listFlags
	channel, agent, place string
	all                   bool
}

func (l *channelListFlags) addFlags(p *process, cmd *cobra.Command) {
	l.add(cmd)
	cmd.Flags().StringVar(&l.agent, "agent", "", "`ID` of the agent")
	addChannelFlag(cmd, &l.channel)
	cmd.Flags().StringVar(&l.place, "place", "", "`ID` of the channel or thread")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
}

// check rejects invalid flags.
func (l *channelListFlags) check() error {
	if l.place != "" && !coordination.IsPlaceID(l.place) {
		return &config.SettingError{Setting: "--place", Value: l.place, HintText: "give the id of a place or thread: of Discord 17 to 20 digits, else as the lists show it"}
	}
	return errors.Join(checkChannel(l.channel), l.listFlags.check())
}

func newThreads(p *process, channel string) *cobra.Command {
	l := channelListFlags{channel: channel}
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads and their participating agents, most recently active first",
		Long: `Lists the threads in the log with their participants: these agents handle messages in the thread without being mentioned. From the database;
works with or without a running server. A thread is suspended while bots have talked too much in it.

Exit codes: 0 listed; 1 failed; 78 invalid flag.`,
		Example: example("openclawd %s threads\n  openclawd %[1]s threads --agent eden --json\n  openclawd %[1]s threads --all", channel),
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.threads(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	cmd.Flags().BoolVar(&l.all, "all", false, "list channels and direct messages too")
	return cmd
}

func (p *process) threads(ctx context.Context, l *channelListFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	threads := list[monitor.ThreadAnswer, *monitor.ThreadAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) ([]monitor.ThreadAnswer, error) {
			words, err := monitor.WordingOf(ctx, tx, nil)
			if err != nil {
				return nil, err
			}
			q := routing.PlaceQuery{Channel: l.channel, ID: l.place, Threads: !l.all, Agent: strings.ToLower(l.agent), Limit: l.limit}
			return monitor.ThreadsOf(ctx, tx, q, words, p.now().UnixMilli())
		},
		name:     "threads",
		answer:   itself[monitor.ThreadAnswer],
		thing:    "thread",
		none:     "no threads yet: agents open them with the tool collaborate, and people by writing in one that a bot can see",
		noMatch:  "no matching threads; try: openclawd channels threads",
		filtered: l.agent+l.place != "",
		head:     []string{"THREAD", "KIND", "SPOKEN", "AGENTS", "SUSPENDED", "NAME"},
		row: func(t *monitor.ThreadAnswer, now time.Time) []string {
			suspended := ""
			if t.SuspendedUntil != nil {
				suspended = "until " + output.Time(*t.SuspendedUntil) + " (" + t.SuspendedFor + ")"
			}
			return []string{t.ID, cmp.Or(t.Use, t.Kind), ago(now, time.UnixMilli(t.LastAt)), t.AgentIDs(), suspended,
				output.Cut(oneLine(t.Name), previewCells)}
		},
	}
	return threads.print(ctx, p, &l.listFlags)
}

func newObserved(p *process, channel string) *cobra.Command {
	l := channelListFlags{channel: channel}
	cmd := &cobra.Command{
		Use:   "observed",
		Short: "List what agents observed, newest first",
		Long: `Lists the messages that agents observed without answering; an agent's runs in that channel or thread get them as a summary. Messages
older than a day are left out. From the database; works with or without a running server.

Exit codes: 0 listed; 1 failed; 78 invalid flag.`,
		Example: example("openclawd %s observed\n  openclawd %[1]s observed --agent eden --place 1400000000000000002 --json", channel),
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.observed(cmd.Context(), &l) },
	}
	l.addFlags(p, cmd)
	return cmd
}

func (p *process) observed(ctx context.Context, l *channelListFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	observed := list[monitor.ObservedAnswer, *monitor.ObservedAnswer]{
		read: func(ctx context.Context, tx *sql.Tx) ([]monitor.ObservedAnswer, error) {
			words, err := monitor.WordingOf(ctx, tx, nil)
			if err != nil {
				return nil, err
			}
			q := routing.ObservedQuery{Channel: l.channel, Agent: strings.ToLower(l.agent), PlaceID: l.place, Since: p.now().Add(-route.HistoryTTL).UnixMilli(), Limit: l.limit}
			return monitor.ObservedOf(ctx, tx, q, words)
		},
		name:     "records",
		answer:   itself[monitor.ObservedAnswer],
		thing:    "record",
		none:     "no agent observed anything in the last day",
		noMatch:  "no matching messages; try: openclawd channels observed",
		filtered: l.agent+l.place != "",
		head:     []string{"AGENT", "MESSAGE", "PLACE", "SENT", "BY", "WHAT"},
		row: func(r *monitor.ObservedAnswer, now time.Time) []string {
			return []string{r.AgentID, r.MessageID, r.Place(), ago(now, time.UnixMilli(r.At)), r.Sender, output.Cut(oneLine(r.Summary), previewCells)}
		},
	}
	return observed.print(ctx, p, &l.listFlags)
}
