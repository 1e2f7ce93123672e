package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/monitor"
)

// deciding has the server of a place decide something for a person.
type deciding func(ctx context.Context, place *client.Place, id, by string) (monitor.Decided, error)

const decidingCodes = `

Exit codes: 0 it is decided; 1 there is nothing of that name to decide, or no server answers; 78 the server wants another write token
(TASK_MONITOR_WRITE_TOKEN), or ID or a flag is wrong.`

func newApprovalsApprove(p *process) *cobra.Command {
	return p.newDecision("approve ID", "Agree to a task or to a plan",
		`Has the running server let a task begin, or open the tools that a plan asks for to the agent that has submitted it, for its task. The agent is
told. It is on disk when the command ends.`+decidingCodes,
		"  openclawd approvals approve task_aa11\n  openclawd approvals approve plan_6b1f0c9d2e3a4b5c6d7e --by 민수 --json",
		func(ctx context.Context, place *client.Place, id, by string) (monitor.Decided, error) {
			return place.Approve(ctx, id, by)
		})
}

func newApprovalsReject(p *process) *cobra.Command {
	var reason string
	cmd := p.newDecision("reject ID", "Do not agree to a task or to a plan, and say why",
		`Has the running server cancel a task that waits, or reject a plan. The agent is told the reason. It is on disk when the command
ends.`+decidingCodes,
		`  openclawd approvals reject task_aa11 --reason "not before the release"
  openclawd approvals reject task_aa11 --reason "너무 크다" --by 민수 --json`,
		func(ctx context.Context, place *client.Place, id, by string) (monitor.Decided, error) {
			if strings.TrimSpace(reason) == "" {
				return monitor.Decided{}, &settings.Error{Setting: "--reason", Value: reason, Mend: "say what should be different: the agent is told"}
			}
			return place.Reject(ctx, id, by, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says what should be different")
	return cmd
}

// newDecision makes a command with which a person decides what waits for approval.
func (p *process) newDecision(use, short, long, example string, decide deciding) *cobra.Command {
	var a asking
	var by string
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
		Args:    positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := approvalNamed(args[0]); err != nil {
				return err
			}
			place, err := p.place(a)
			if err != nil {
				return err
			}
			named := strings.TrimSpace(by)
			done, err := decide(cmd.Context(), place, args[0], cmp.Or(named, p.person()))
			if err != nil {
				return decidingError(err, named)
			}
			return p.writeDecided(&done, a.asJSON)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeApprovals(cmd.Context(), a.stateDir, a.db), cobra.ShellCompDirectiveNoFileComp
		},
	}
	a.addFlags(cmd)
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of who decides (default: who you are to this system)")
	return cmd
}

// approvalNamed refuses an id that names nothing.
func approvalNamed(id string) error {
	if strings.TrimSpace(id) != "" {
		return nil
	}
	return &settings.Error{Setting: "ID", Value: id, Err: errors.New("it is missing or blank"), Mend: mendApprovals}
}

const mendApprovals = "openclawd approvals lists what waits"

// decidingError gives what a server refuses the words of this command. by is the name that --by gives, "" for none.
func decidingError(err error, by string) error {
	refused, ok := errors.AsType[*client.RefusedError](err)
	switch {
	case !ok:
		return err
	case refused.Why == "not_found":
		refused.Mend = mendApprovals
	case refused.Field == "by" && by == "":
		refused.Mend = "that is who you are to this system: say who you are with --by NAME"
	case refused.Field == "by":
		return &settings.Error{Setting: "--by", Value: by, Err: errors.New(refused.Text), Mend: refused.Mend}
	}
	return err
}

// decidedAnswer is the answer of approvals approve and reject.
type decidedAnswer struct {
	OK bool `json:"ok"`
	monitor.Decided
}

func (p *process) writeDecided(done *monitor.Decided, asJSON bool) error {
	if asJSON {
		return output.JSONLine(p.stdout, decidedAnswer{true, *done})
	}
	_, err := fmt.Fprintf(p.stdout, "%s %s of %s is %s, decided by %s\n", done.Kind, output.Printable(done.ID), output.Printable(done.AgentID),
		output.Printable(done.Status), output.Printable(done.DecidedBy))
	return err
}

// person is who sits at the terminal, as the system knows them; "" where it does not.
func (p *process) person() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return personNamed(who.Username)
	}
	return personNamed(p.getenv("USER"))
}

// personNamed is a name of a user on one line, without the domain that some systems put before it.
func personNamed(name string) string {
	const longest = 60 // letters
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name[strings.LastIndexByte(name, '\\')+1:])
	letters := []rune(strings.TrimSpace(name))
	return string(letters[:min(len(letters), longest)])
}
