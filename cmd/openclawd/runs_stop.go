package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
)

type runStopFlags struct {
	gatewayFlags
	session string
}

func newRunsStop(p *process) *cobra.Command {
	var s runStopFlags
	cmd := &cobra.Command{
		Use:   "stop RUN|--session KEY",
		Short: "Stop a run, or all runs of a session",
		Long: `Asks the running gateway to stop a run, queued or running, or all runs of a session. The partial answer stays in the session.

Exit codes: 0 stopped; 1 nothing to stop, or no gateway answers; 75 and 78 as for openclawd call.`,
		Example: "  openclawd runs stop 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd runs stop --session agent:eden:main",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.stopRuns(cmd.Context(), s, args) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			open := []run.State{run.Queued, run.Running}
			return p.completeRuns(cmd.Context(), s.stateDir, s.db, open), cobra.ShellCompDirectiveNoFileComp
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&s.session, "session", "", "all runs of the session with this `KEY`")
	p.completeFlag(cmd, "session", func(ctx context.Context) []cobra.Completion { return p.completeKeys(ctx, s.gatewayFlags) })
	return cmd
}

func (p *process) stopRuns(ctx context.Context, s runStopFlags, args []string) error {
	if (len(args) == 1) == (s.session != "") {
		return &usageError{command: "openclawd runs stop", err: errors.New("name one run, or --session")}
	}
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	params := map[string]any{"sessionKey": s.session}
	if len(args) == 1 {
		r, err := p.findRun(ctx, s.stateDir, s.db, args[0])
		if err != nil {
			return err
		}
		params = map[string]any{"sessionKey": r.SessionKey, "runId": r.RunID}
	}
	gateway, err := p.dial(ctx, s.gatewayFlags, nil)
	if err != nil {
		return err
	}
	defer gateway.Close()
	payload, err := askGateway(ctx, gateway, "chat.abort", params)
	if err != nil {
		return err
	}
	var answer struct {
		RunIDs []string `json:"runIds"`
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return fmt.Errorf("decode the gateway's answer: %w", err)
	}
	if len(answer.RunIDs) == 0 {
		return &codedError{text: "nothing is queued or running there", code: "nothing_to_stop",
			hint: "openclawd runs --state queued,running lists the runs that can be stopped"}
	}
	if s.asJSON {
		return output.JSONLine(p.stdout, map[string]any{"stopped": answer.RunIDs})
	}
	for _, id := range answer.RunIDs {
		if _, err := fmt.Fprintln(p.stdout, "stopped "+output.Printable(id)); err != nil {
			return err
		}
	}
	return nil
}
