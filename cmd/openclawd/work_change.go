package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// newWorkChange builds a command that asks the running server to change an effect.
func newWorkChange(p *process, change, short, long string) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   change + " EFFECT",
		Short: short,
		Long: long + ` The running server does it; the change is on disk when the command ends.

Exit codes: 0 done; 1 not possible, or no server answers; 78 the server requires another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example:           "  openclawd work " + change + " send/release-7\n  openclawd work " + change + " send/release-7 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.changeWork(cmd.Context(), a, change, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeDead(ctx, a) }),
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) changeWork(ctx context.Context, a serverFlags, change, id string) error {
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

// completeDead completes ids of dead letters.
func (p *process) completeDead(ctx context.Context, a serverFlags) (ids []cobra.Completion) {
	const shown = 50
	return completeFrom(ctx, p, a.stateDir, a.db, func(tx *sql.Tx) ([]workqueue.Item, error) {
		return workqueue.List(ctx, tx, workqueue.Query{State: workqueue.Dead, Limit: shown})
	}, func(i *workqueue.Item) (id, what string) { return i.EffectID, i.Kind })
}
