package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/projections/work"
)

// newWorkChange makes the command that asks the running server for a change of an effect.
func newWorkChange(p *process, change, short, long string) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   change + " EFFECT",
		Short: short,
		Long: long + ` The running server does it; it is on disk when the command ends.

Exit codes: 0 it was done; 1 it cannot be, or no server answers; 78 the server wants another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd work " + change + " mail/42\n  openclawd work " + change + " mail/42 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.changeWork(cmd.Context(), a, change, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeDead(cmd.Context(), a), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) changeWork(ctx context.Context, a asking, change, id string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	if err := place.ChangeWork(ctx, id, change); err != nil {
		return err
	}
	if a.asJSON {
		return output.JSONLine(p.stdout, map[string]any{"ok": true, "effectId": id})
	}
	_, err = fmt.Fprintln(p.stdout, map[string]string{"resend": "waits again: ", "cancel": "cancelled: "}[change]+output.Printable(id))
	return err
}

// completeDead lists what was given up.
func (p *process) completeDead(ctx context.Context, a asking) (ids []cobra.Completion) {
	const shown = 50
	err := p.readSessions(ctx, a.stateDir, a.db, func(tx *sql.Tx) error {
		list, err := work.List(ctx, tx, work.Query{State: work.Dead, Limit: shown})
		for i := range list {
			ids = append(ids, cobra.CompletionWithDesc(list[i].EffectID, list[i].Kind))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return ids
}
