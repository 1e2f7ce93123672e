package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/routing"
)

func newPairing(p *process) *cobra.Command {
	return newGroup("pairing", "Decide which people may write direct messages to agents", newPairingList(p),
		newPairingDecision(p, "approve CHANNEL CODE", "Let the person who was given a code write to agents",
			`Approves the person whose request has the code. A bot gives an unknown person a code if dmPolicy of its channel is pairing; codes are valid for
an hour. Ask the person for the code over another way that you trust.`, "  openclawd pairing approve telegram ABCD2345 --notify"),
		newPairingDecision(p, "revoke CHANNEL USER", "Take back that a person may write to agents",
			"Takes back an approval, or ends a pending request. People listed in allowFrom are not concerned.", "  openclawd pairing revoke telegram 8734062810"))
}

func newPairingList(p *process) *cobra.Command {
	var a serverFlags
	var approved bool
	cmd := &cobra.Command{
		Use:   "list CHANNEL",
		Short: "List people who wait for approval, with their codes",
		Long: `Lists people who wrote to a bot of discord, telegram or slack and wait for approval. From the database; works with or without a running server.

Exit codes: 0 listed; 1 failed; 78 no such channel.`,
		Example: "  openclawd pairing list telegram\n  openclawd pairing list slack --approved --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			state := pairing.Pending
			if approved {
				state = pairing.Approved
			}
			return p.pairings(cmd.Context(), &a, args[0], state)
		},
		ValidArgs: channelNames(),
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&approved, "approved", false, "list those who were approved")
	return cmd
}

// channelNames are the channels in which people can be paired.
func channelNames() (names []string) {
	for _, c := range coordination.Channels() {
		names = append(names, c.Name)
	}
	return names
}

func (p *process) pairings(ctx context.Context, a *serverFlags, channel string, state pairing.State) error {
	if !slices.Contains(channelNames(), channel) {
		return &config.SettingError{Setting: "CHANNEL", Value: channel, HintText: "give one of " + strings.Join(channelNames(), ", ")}
	}
	const most = 1_000
	people := []pairing.Person{}
	err := p.readSessions(ctx, a.stateDir, a.db, func(tx *sql.Tx) error {
		list, err := routing.People(projections.Reading(ctx, tx), channel, state, p.now().UnixMilli(), most)
		people = append(people, list...)
		return err
	})
	switch {
	case err != nil:
		return err
	case a.asJSON:
		return output.JSON(p.stdout, map[string]any{"channel": channel, "requests": people})
	case len(people) == 0:
		return p.writeNote("no one of " + channel + " is " + string(state))
	}
	rows := make([][]string, len(people))
	for i := range people {
		one := &people[i]
		rows[i] = []string{cmp.Or(one.Code, one.By), one.UserID, output.Cut(oneLine(one.UserName), previewCells), one.AccountID, ago(p.now(), time.UnixMilli(one.SinceMs))}
	}
	return output.Table(p.stdout, []string{map[pairing.State]string{pairing.Pending: "CODE", pairing.Approved: "BY"}[state], "USER", "NAME", "ACCOUNT", "SINCE"}, rows)
}

// newPairingDecision builds the approve or revoke command; the first word of use says which.
func newPairingDecision(p *process, use, short, long, example string) *cobra.Command {
	var a serverFlags
	var by string
	var notify bool
	approves := strings.HasPrefix(use, "approve")
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Long: long + ` The running server does it; the decision is on disk when the command ends.

Exit codes: 0 decided; 1 not possible, or no server answers; 78 the server requires another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Args: positional(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := p.place(a)
			if err != nil {
				return err
			}
			said := map[string]any{"channel": args[0], "by": cmp.Or(strings.TrimSpace(by), p.person())}
			change, field := "revoke", "userId"
			if approves {
				change, field, said["notify"] = "approve", "code", notify
			}
			if said[field] = strings.TrimSpace(args[1]); said[field] == "" {
				return &config.SettingError{Setting: field, Err: errors.New("it is blank"), HintText: "openclawd pairing list shows it"}
			}
			done, err := place.Pair(cmd.Context(), change, said)
			switch {
			case err != nil:
				return err
			case a.asJSON:
				return output.JSONLine(p.stdout, done)
			}
			_, err = fmt.Fprintf(p.stdout, "%s user %s %s is %s\n", done.Channel, output.Printable(done.UserID), output.Printable(done.UserName), done.State)
			return err
		},
		ValidArgs: channelNames(),
	}
	a.addFlags(cmd)
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of the person who decides (default: your user name)")
	if approves {
		cmd.Flags().BoolVar(&notify, "notify", false, "have the bot tell the person")
	}
	return cmd
}
