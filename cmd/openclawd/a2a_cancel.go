package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newA2ACancel(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a flow between agents",
		Long: `Asks the running server to cancel a flow: the run that it waits for is stopped, and so are the sub-agents that its runs started. The log
records it as cancelled (killed for a sub-agent), and by whom. The change is on disk when the command ends.

Exit codes: 0 cancelled; 1 no such flow, already finished, or no server answers; 78 the server requires another write token
(TASK_MONITOR_WRITE_TOKEN).`,
		Example:           "  openclawd a2a cancel 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd a2a cancel 6bd56a9f-6a84-479f-8127-c4b06365f0b9 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.cancelFlow(cmd.Context(), a, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeFlows(ctx, a.stateDir, a.db, true) }),
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) cancelFlow(ctx context.Context, a serverFlags, id string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	stopped, err := place.CancelFlow(ctx, id)
	if refused, ok := errors.AsType[*apiclient.RefusedError](err); ok && (refused.Why == "not_found" || refused.Why == "conflict") {
		refused.HintText = "openclawd a2a list --open lists the flows that can be cancelled"
	}
	if err != nil {
		return err
	}
	if a.asJSON {
		return output.JSONLine(p.stdout, map[string]any{"stopped": stopped})
	}
	for _, one := range stopped {
		if _, err := fmt.Fprintln(p.stdout, "cancelled: "+output.Printable(one)); err != nil {
			return err
		}
	}
	return nil
}
