package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/monitor"
)

// approvalListing holds the flags of approvals.
type approvalListing struct {
	stateDir, db string
	agent        string
	asJSON       bool
}

func newApprovals(p *process) *cobra.Command {
	var l approvalListing
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List what waits for somebody to agree to it, the longest first",
		Long: `Lists the tasks that agents have begun with requires_approval, and the plans that they have submitted, as far as nobody has decided about
them. From the database; works beside a running server and without one. Where a server answers that follows another gateway, it says that
nothing is decided there.

Leads decide with tools (task_approve, task_reject, plan_approve, plan_reject), people with the commands below. Nobody approves what is their
own.`,
		Example: `  openclawd approvals
  openclawd approvals --agent eden --json
  openclawd approvals show task_aa11
  openclawd approvals approve task_aa11
  openclawd approvals reject task_aa11 --reason "split it: the migration first"`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.approvals(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	cmd.Flags().StringVar(&l.agent, "agent", "", "`ID` of the agent whose they are")
	cmd.Flags().BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	cmd.AddCommand(newApprovalsShow(p), newApprovalsApprove(p), newApprovalsReject(p))
	return cmd
}

// approvalsAnswer is the answer of approvals.
type approvalsAnswer struct {
	Approvals []monitor.Approval `json:"approvals"`
	Count     int                `json:"count"`
}

func (p *process) approvals(ctx context.Context, l approvalListing) error {
	list, err := p.pendingApprovals(ctx, l.stateDir, l.db, monitor.ApprovalQuery{Agent: strings.ToLower(l.agent)})
	if err != nil {
		return err
	}
	if l.asJSON {
		return output.JSON(p.stdout, approvalsAnswer{list, len(list)})
	}
	if err := p.writeApprovals(list, &l); err != nil || len(list) == 0 {
		return err
	}
	next := "openclawd approvals show ID tells more, approve ID and reject ID --reason TEXT decide"
	if p.decidedElsewhere(ctx, &l) {
		next = "nothing is decided here: another gateway runs the agents, decide there; openclawd approvals show ID tells more"
	}
	_, err = fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "approval")+" to decide; "+next)
	return err
}

// decidedElsewhere reports whether a server of the place says, soon, that it follows another gateway. The database alone does not tell.
func (p *process) decidedElsewhere(ctx context.Context, l *approvalListing) bool {
	place, err := p.place(asking{stateDir: l.stateDir, db: l.db})
	if err != nil {
		return false
	}
	const soon = 5 * time.Second
	ctx, stop := context.WithTimeout(ctx, soon)
	defer stop()
	status, _ := place.Status(ctx)
	return status != nil && client.Follows(status)
}

// pendingApprovals reads what waits for approval, longest first.
func (p *process) pendingApprovals(ctx context.Context, stateDir, db string, q monitor.ApprovalQuery) (list []monitor.Approval, err error) {
	err = p.readSessions(ctx, stateDir, db, func(tx *sql.Tx) error {
		waiting, err := monitor.PendingApprovals(ctx, tx, q)
		if err == nil {
			list = waiting.List
		}
		return err
	})
	return list, err
}

func (p *process) writeApprovals(list []monitor.Approval, l *approvalListing) error {
	if len(list) == 0 {
		text := "nothing waits for approval: tasks do that agents begin with requires_approval, and plans that they submit with plan_submit"
		if l.agent != "" {
			text = "nothing of " + output.Printable(l.agent) + " waits for approval; openclawd approvals lists everybody's"
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

const toolCells = 30 // of a terminal

// askedAgo is how long something waits; "" where nobody knows.
func askedAgo(now time.Time, a *monitor.Approval) string {
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

// completeApprovals lists what waits for approval.
func (p *process) completeApprovals(ctx context.Context, stateDir, db string) (ids []cobra.Completion) {
	const shown = 50
	list, err := p.pendingApprovals(ctx, stateDir, db, monitor.ApprovalQuery{Limit: shown})
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
