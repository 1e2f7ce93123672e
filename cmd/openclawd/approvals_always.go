package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/pending"
)

func newApprovalsAlways(p *process) *cobra.Command {
	var anyArguments bool
	cmd := p.newDecision("always ID", "Approve a call of a tool, and such calls of the agent from now on",
		`Asks the running server to have a waiting call made, and to let the agent call the tool with the same arguments without asking, or with any
arguments. Rules of tools.approvals that deny a call count nevertheless. openclawd approvals lasting lists such permissions, and openclawd
approvals forget takes one back.`+decidingCodes,
		"  openclawd approvals always call_0b1c2d3e4f5061728394\n  openclawd approvals always call_0b1c2d3e4f5061728394 --any-arguments --by 민수",
		func(ctx context.Context, place *apiclient.Place, id, by string) (approval.Decided, error) {
			scope := permission.ThisCall
			if anyArguments {
				scope = permission.AnyCall
			}
			return place.ApproveAlways(ctx, id, by, scope)
		})
	cmd.Flags().BoolVar(&anyArguments, "any-arguments", false, "permit the tool with any arguments")
	return cmd
}

func newApprovalsForget(p *process) *cobra.Command {
	cmd := p.newDecision("forget ID", "Take a permission for calls back",
		`Asks the running server to have such calls wait for people again. ID is the approval that gave the permission: openclawd approvals lasting
lists them.`+decidingCodes,
		"  openclawd approvals forget call_0b1c2d3e4f5061728394",
		func(ctx context.Context, place *apiclient.Place, id, by string) (approval.Decided, error) {
			return place.ForgetPermission(ctx, id, by)
		})
	cmd.ValidArgsFunction = nil // what waits is nothing to take back
	return cmd
}

func newApprovalsLasting(p *process) *cobra.Command {
	var l approvalListFlags
	cmd := &cobra.Command{
		Use:   "lasting",
		Short: "List permissions for calls of tools that outlast their call",
		Long: `Lists what was approved with always, by approvals always, a button or a client, and not taken back. From the database; works with or without a
running server.`,
		Example: "  openclawd approvals lasting\n  openclawd approvals lasting --agent eden --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.lastingPermissions(cmd.Context(), &l) },
	}
	l.add(cmd)
	cmd.Flags().StringVar(&l.agent, "agent", "", "filter by `ID` of the agent")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	return cmd
}

func (p *process) lastingPermissions(ctx context.Context, l *approvalListFlags) error {
	var list []approval.Approval
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		list, err = pending.Lasting(projections.Reading(ctx, tx), pending.Query{Agent: strings.ToLower(l.agent)})
		return err
	})
	switch {
	case err != nil:
		return err
	case l.asJSON:
		return output.JSON(p.stdout, approvalsAnswer{list, len(list)})
	case len(list) == 0:
		_, err := fmt.Fprintln(p.stdout, "no lasting permissions: openclawd approvals always gives one")
		return err
	}
	rows := make([][]string, len(list))
	for i := range list {
		a := &list[i]
		what := a.Title
		if a.Decision.Scope == permission.AnyCall {
			what = a.Call.Tool + " with any arguments"
		}
		rows[i] = []string{a.ID, a.AgentID, ago(p.now(), time.UnixMilli(a.Decision.AtMs)), a.Decision.By, output.Cut(oneLine(what), previewCells)}
	}
	return output.Table(p.stdout, []string{"ID", "AGENT", "GIVEN", "BY", "WHAT"}, rows)
}
