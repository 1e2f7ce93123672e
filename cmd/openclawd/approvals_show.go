package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/pending"
)

func newApprovalsShow(p *process) *cobra.Command {
	var l readFlags
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a pending approval: its steps and the tools that it grants, or the call",
		Long: `Shows a task, a plan or a call of a tool that waits for approval. From the database; works with or without a running server.

Exit codes: 0 shown; 1 no such approval, or it is already decided; 78 ID is blank.`,
		Example:           "  openclawd approvals show plan_6b1f0c9d2e3a4b5c6d7e\n  openclawd approvals show task_aa11 --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.showApproval(cmd.Context(), l, args[0]) },
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeApprovals(ctx, l.stateDir, l.db) }),
	}
	l.add(cmd)
	return cmd
}

// shownApproval is the JSON output of approvals show.
type shownApproval struct {
	Approval *approval.Approval `json:"approval"`
}

func (p *process) showApproval(ctx context.Context, l readFlags, id string) error {
	if err := approvalNamed(id); err != nil {
		return err
	}
	var a *approval.Approval
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		a, err = pending.Approval(ctx, tx, id, p.now().UnixMilli())
		return err
	})
	switch {
	case err != nil:
		return err
	case a == nil:
		return &codedError{text: fmt.Sprintf("no pending approval %q", id), code: "no_approval", hint: "openclawd approvals lists the pending ones"}
	case l.asJSON:
		return output.JSON(p.stdout, shownApproval{a})
	}
	return p.writeApproval(a)
}

func (p *process) writeApproval(a *approval.Approval) error {
	asked := ""
	if a.RequestedAtMs > 0 {
		asked = output.Time(a.RequestedAtMs)
	}
	err := p.writePairs(oneLine, [][2]string{{a.Kind, a.ID}, {"agent", a.AgentID}, {"title", a.Title}, {"for task", taskOf(a)}, {"work session", a.WorkSessionID},
		{"session", a.SessionKey}, {"priority", a.Priority}, {"asked", asked}, {"tools", strings.Join(a.ToolsRequested, ", ")}})
	if err != nil {
		return err
	}
	if a.Call != nil {
		return p.writeCall(a.Call)
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

// writeCall writes what a call that waits would do.
func (p *process) writeCall(c *approval.Call) error {
	err := p.writePairs(oneLine, [][2]string{{"tool", c.Tool}, {"server", c.Server}, {"run", c.RunID}, {"expires", output.Time(c.ExpiresAtMs)}})
	if err != nil {
		return err
	}
	arguments := string(c.Arguments)
	if c.Arguments == nil {
		arguments = fmt.Sprintf("%d bytes, which are not kept", c.ArgumentsBytes)
	}
	if err := p.writeText("ARGUMENTS", arguments); err != nil || c.Input == nil {
		return err
	}
	return p.writeInput(c.Input)
}

// writeInput writes what a call wants from a person.
func (p *process) writeInput(in *approval.Input) error {
	if err := p.writeText("THE SERVER ASKS", in.Message); err != nil {
		return err
	}
	if in.URL != "" {
		if err := p.writeText("OPEN THIS ADDRESS, IF YOU TRUST IT, BEFORE YOU APPROVE", in.URL); err != nil {
			return err
		}
	}
	if in.Said != "" {
		if err := p.writeText("WITHOUT IT THE CALL HAS RETURNED", in.Said); err != nil {
			return err
		}
	}
	if len(in.Fields) > 0 {
		rows := make([][]string, len(in.Fields))
		for i := range in.Fields {
			rows[i] = fieldRow(&in.Fields[i])
		}
		if err := p.writeBelow([]string{"FIELD", "TYPE", "NEEDED", "WHAT"}, rows); err != nil {
			return err
		}
	}
	return p.writeText("NOTE", in.Note(coordination.English))
}

// fieldRow is a field of a form: what it is called, takes and means.
func fieldRow(f *coordination.InputField) []string {
	kind, needed := cmp.Or(f.Format, f.Type), "no"
	var choices []string
	for _, o := range f.Options {
		choices = append(choices, o.Value)
	}
	if len(choices) > 0 {
		kind = "one of " + strings.Join(choices, ", ")
	}
	if f.Type == "array" {
		kind = "some of " + strings.Join(choices, ", ")
	}
	if f.Required {
		needed = "yes"
	}
	return []string{oneLine(f.Name), output.Cut(oneLine(kind), previewCells), needed, output.Cut(oneLine(strings.TrimSpace(f.Title+" "+f.Description)), previewCells)}
}

// taskOf is the task that a plan is for; "" for a task.
func taskOf(a *approval.Approval) string {
	if a.Kind == approval.OfTask {
		return ""
	}
	return a.TaskID
}

// writePairs writes names and values, leaving out empty values. clean makes a value fit for a terminal.
func (p *process) writePairs(clean func(string) string, pairs [][2]string) error {
	for _, pair := range pairs {
		if pair[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-13s %s\n", pair[0], clean(pair[1])); err != nil {
			return err
		}
	}
	return nil
}
