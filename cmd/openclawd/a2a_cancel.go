package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

func newA2ACancel(p *process) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "End a flow between agents",
		Long: `Has the running server end a flow: the run that it waits for is stopped, and so are the sub-agents that its runs have started. The log says
that it was cancelled (killed, if it was a sub-agent), and by whom. It is on disk when the command ends.

Exit codes: 0 it was ended; 1 there is none, it is over already, or no server answers; 78 the server wants another write token
(TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd a2a cancel 6bd56a9f-6a84-479f-8127-c4b06365f0b9\n  openclawd a2a cancel 6bd56a9f-6a84-479f-8127-c4b06365f0b9 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.cancelFlow(cmd.Context(), a, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeFlows(cmd.Context(), a.stateDir, a.db, true), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) cancelFlow(ctx context.Context, a asking, id string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	stopped, err := place.CancelFlow(ctx, id)
	if refused, ok := errors.AsType[*client.RefusedError](err); ok && (refused.Why == "not_found" || refused.Why == "conflict") {
		refused.Mend = "openclawd a2a list --open lists those that can be ended"
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
