package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/monitor"
)

func newApprovalsShow(p *process) *cobra.Command {
	var l approvalListing
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what somebody is to agree to: its steps, and the tools that it opens",
		Long: `Shows a task or a plan that waits for approval. From the database; works beside a running server and without one.

Exit codes: 0 it is shown; 1 there is none, or it waits for nothing any more; 78 ID is blank.`,
		Example: "  openclawd approvals show plan_6b1f0c9d2e3a4b5c6d7e\n  openclawd approvals show task_aa11 --json",
		Args:    positional(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showApproval(cmd.Context(), l, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeApprovals(cmd.Context(), l.stateDir, l.db), cobra.ShellCompDirectiveNoFileComp
		},
	}
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	cmd.Flags().BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// shownApproval is the answer of approvals show.
type shownApproval struct {
	Approval *monitor.Approval `json:"approval"`
}

func (p *process) showApproval(ctx context.Context, l approvalListing, id string) error {
	if err := approvalNamed(id); err != nil {
		return err
	}
	var a *monitor.Approval
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		a, err = monitor.PendingApproval(ctx, tx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case a == nil:
		return &noApprovalError{id}
	case l.asJSON:
		return output.JSON(p.stdout, shownApproval{a})
	}
	return p.writeApproval(a)
}

// noApprovalError says that nothing of that id waits for approval.
type noApprovalError struct{ id string }

func (e *noApprovalError) Error() string { return fmt.Sprintf("nothing %q waits for approval", e.id) }
func (e *noApprovalError) Code() string  { return "no_approval" }
func (e *noApprovalError) Hint() string  { return "openclawd approvals lists what does" }

func (p *process) writeApproval(a *monitor.Approval) error {
	asked := ""
	if a.RequestedAtMs > 0 {
		asked = output.Time(a.RequestedAtMs)
	}
	err := p.writePairs([][2]string{{a.Kind, a.ID}, {"agent", a.AgentID}, {"title", a.Title}, {"for task", taskOf(a)}, {"work session", a.WorkSessionID},
		{"session", a.SessionKey}, {"priority", a.Priority}, {"asked", asked}, {"tools", strings.Join(a.ToolsRequested, ", ")}})
	if err != nil {
		return err
	}
	if a.Description != a.Title {
		if err := p.writeText("DESCRIPTION", a.Description); err != nil {
			return err
		}
	}
	if len(a.Steps) == 0 {
		return nil
	}
	steps := make([][]string, len(a.Steps))
	for i, step := range a.Steps {
		steps[i] = []string{strconv.Itoa(i + 1), oneLine(step)}
	}
	return p.writeBelow([]string{"STEP", "WHAT"}, steps)
}

// taskOf is the task that a plan is for; "" of a task.
func taskOf(a *monitor.Approval) string {
	if a.Kind == monitor.ApprovalOfTask {
		return ""
	}
	return a.TaskID
}

// writePairs writes names and what they are, those that are nothing left out.
func (p *process) writePairs(pairs [][2]string) error {
	for _, pair := range pairs {
		if pair[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-13s %s\n", pair[0], oneLine(pair[1])); err != nil {
			return err
		}
	}
	return nil
}
