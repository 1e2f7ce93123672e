package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

type approvalListFlags struct {
	readFlags
	agent string
}

func newApprovals(p *process) *cobra.Command {
	var l approvalListFlags
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List tasks, plans and calls of tools that wait for approval, longest waiting first",
		Long: `Lists undecided approvals: tasks that agents started with requires_approval, plans that they submitted, and calls of tools that wait for a
person because of tools.approvals. From the database; works with or without a running server. If the running server follows another gateway, decisions cannot be made here.

Leads decide with tools (task_approve, task_reject, plan_approve, plan_reject), people with the commands below. An agent cannot approve its
own requests. Calls are decided by people only.`,
		Example: `  openclawd approvals
  openclawd approvals --agent eden --json
  openclawd approvals show task_aa11
  openclawd approvals approve task_aa11
  openclawd approvals reject task_aa11 --reason "split it: the migration first"
  openclawd approvals always call_0b1c2d3e4f5061728394
  openclawd approvals lasting`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.approvals(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	l.add(cmd)
	cmd.Flags().StringVar(&l.agent, "agent", "", "filter by `ID` of the requesting agent")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	cmd.AddCommand(newApprovalsShow(p), newApprovalsApprove(p), newApprovalsReject(p), newApprovalsAlways(p), newApprovalsLasting(p), newApprovalsForget(p))
	return cmd
}

// approvalsAnswer is the JSON output of approvals.
type approvalsAnswer struct {
	Approvals []approval.Approval `json:"approvals"`
	Count     int                 `json:"count"`
}

func (p *process) approvals(ctx context.Context, l approvalListFlags) error {
	list, err := p.pendingApprovals(ctx, l.stateDir, l.db, pending.Query{Agent: strings.ToLower(l.agent)})
	if err != nil {
		return err
	}
	if l.asJSON {
		return output.JSON(p.stdout, approvalsAnswer{list, len(list)})
	}
	if err := p.writeApprovals(list, &l); err != nil || len(list) == 0 {
		return err
	}
	next := "details: openclawd approvals show ID; decide: openclawd approvals approve ID, reject ID --reason TEXT"
	if p.decidedElsewhere(ctx, &l) {
		next = "read-only: another gateway runs the agents, decide there; details: openclawd approvals show ID"
	}
	_, err = fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "approval")+" to decide; "+next)
	return err
}

// decidedElsewhere reports whether a server of the place follows another gateway, if it answers soon. The database
// alone does not tell.
func (p *process) decidedElsewhere(ctx context.Context, l *approvalListFlags) bool {
	place, err := p.place(serverFlags{stateDir: l.stateDir, db: l.db})
	if err != nil {
		return false
	}
	const soon = 5 * time.Second
	ctx, stop := context.WithTimeout(ctx, soon)
	defer stop()
	status, _ := place.Status(ctx)
	return status != nil && apiclient.Follows(status)
}

// pendingApprovals reads the pending approvals, longest waiting first.
func (p *process) pendingApprovals(ctx context.Context, stateDir, db string, q pending.Query) (list []approval.Approval, err error) {
	err = p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) error {
		q.Now = p.now().UnixMilli()
		waiting, err := pending.Approvals(ctx, tx, q)
		if err == nil {
			list = waiting.List
		}
		return err
	})
	return list, err
}

func (p *process) writeApprovals(list []approval.Approval, l *approvalListFlags) error {
	if len(list) == 0 {
		text := "no pending approvals: tasks started with requires_approval, plans submitted with plan_submit and calls that tools.approvals has wait appear here"
		if l.agent != "" {
			text = "nothing of " + output.Printable(l.agent) + " waits for approval; openclawd approvals lists all agents'"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		a := &list[i]
		rows[i] = []string{a.ID, a.Kind, a.AgentID, askedAgo(now, a), countOrNone(a.StepsCount),
			output.Cut(strings.Join(a.ToolsRequested, ", "), toolCells), output.Cut(oneLine(a.Title), previewCells)}
	}
	return output.Table(p.stdout, []string{"ID", "KIND", "AGENT", "ASKED", "STEPS", "TOOLS", "WHAT"}, rows)
}

const toolCells = 30 // terminal width

// askedAgo is how long something waits; "" if unknown.
func askedAgo(now time.Time, a *approval.Approval) string {
	if a.RequestedAtMs == 0 {
		return ""
	}
	return ago(now, time.UnixMilli(a.RequestedAtMs))
}

func countOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// completeApprovals completes ids of pending approvals.
func (p *process) completeApprovals(ctx context.Context, stateDir, db string) (ids []cobra.Completion) {
	const shown = 50
	list, err := p.pendingApprovals(ctx, stateDir, db, pending.Query{Limit: shown})
	if err != nil {
		return nil
	}
	for i := range list {
		a := &list[i]
		what := a.Kind + " of " + output.Printable(a.AgentID) + ": " + output.Cut(oneLine(a.Title), previewCells)
		ids = append(ids, cobra.CompletionWithDesc(output.Printable(a.ID), what))
	}
	return ids
}
