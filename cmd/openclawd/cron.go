package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/gatewaycli"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

func newCron(p *process) *cobra.Command {
	group := newGroup("cron", "Manage scheduled jobs of a running server")
	group.Long = `Adds, changes, runs and lists jobs that are due once, at an interval, or at the times of a cron expression. They run in the server; each due time
has one run. See docs/operations/schedules.md.`
	group.Example = `  openclawd cron add --name report --cron "0 9 * * 1-5" --tz Asia/Seoul --message "Write the daily report" --announce --channel discord --to channel:123
  openclawd cron add --at 20m --system-event "Remind me of the tea"
  openclawd cron list --all
  openclawd cron runs ID --json`
	for _, c := range gatewaycli.CronCommands() {
		group.AddCommand(newAskingCommand(p, "cron", &c))
	}
	return group
}

// newAskingCommand builds a command that asks the gateway, below a group.
func newAskingCommand(p *process, group string, c *gatewaycli.Command) *cobra.Command {
	flags := callFlags{}
	args := cobra.ExactArgs(max(c.Args, 0))
	if c.Args < 0 {
		args = cobra.MaximumNArgs(-c.Args)
	}
	ask := c.Ask
	cmd := &cobra.Command{Use: c.Use, Short: c.Short, Args: positional(args), Example: "  openclawd " + group + " " + c.Example}
	flags.addFlags(cmd)
	if c.Flags != nil {
		c.Flags(cmd.Flags())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := context.WithTimeoutCause(cmd.Context(), defaultCallTime, &lateError{defaultCallTime})
		defer stop()
		understood := false // the command line
		call := func(ctx context.Context, method string, params any) (json.RawMessage, error) {
			understood = true
			gateway, err := p.dial(ctx, flags.gatewayFlags, nil)
			if err != nil {
				return nil, err
			}
			defer gateway.Close()
			return gateway.Call(ctx, method, params)
		}
		answer, text, err := ask(ctx, call, args, cmd.Flags(), p.now())
		switch why, closed := new(protocol.Error), new(client.ClosedError); {
		case errors.As(err, &why):
			return &callError{reason: why}
		case errors.As(err, &closed):
			return &lostError{err}
		case err != nil && !understood:
			return &usageError{command: cmd.CommandPath(), err: err}
		case err != nil:
			return err
		case flags.asJSON || text == "":
			return p.writePayload(flags, answer)
		}
		_, err = fmt.Fprintln(p.stdout, text)
		return err
	}
	return cmd
}
