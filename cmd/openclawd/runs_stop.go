package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
)

// runStopping holds the flags of runs stop.
type runStopping struct {
	doorway
	session string
}

func newRunsStop(p *process) *cobra.Command {
	var s runStopping
	cmd := &cobra.Command{
		Use:   "stop RUN|--session KEY",
		Short: "Stop a run, or all of a session",
		Long: `Has the running gateway stop a run, queued or under way, or all of a session. What it has said until then stays in the session.

Exit codes: 0 it was stopped; 1 there was nothing to stop, or no gateway answers; 75 and 78 as for openclawd call.`,
		Example: "  openclawd runs stop 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd runs stop --session agent:eden:main",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.stopRuns(cmd.Context(), s, args) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			open := []coordrun.State{coordrun.Queued, coordrun.Running}
			return p.completeRuns(cmd.Context(), s.stateDir, s.db, open), cobra.ShellCompDirectiveNoFileComp
		},
	}
	s.addFlags(cmd)
	cmd.Flags().StringVar(&s.session, "session", "", "all runs of the session with this `KEY`")
	p.completeFlag(cmd, "session", func(ctx context.Context) []cobra.Completion { return p.completeKeys(ctx, s.doorway) })
	return cmd
}

func (p *process) stopRuns(ctx context.Context, s runStopping, args []string) error {
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
	gateway, err := p.dial(ctx, s.doorway, nil)
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
		return fmt.Errorf("answer of the gateway: %w", err)
	}
	if len(answer.RunIDs) == 0 {
		return &nothingToStopError{}
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

// nothingToStopError says that what was to be stopped had ended, or had never begun.
type nothingToStopError struct{}

func (*nothingToStopError) Error() string { return "nothing is queued or running there" }
func (*nothingToStopError) Code() string  { return "nothing_to_stop" }
func (*nothingToStopError) Hint() string {
	return "openclawd runs --state queued,running lists what can be stopped"
}
