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

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/internal/output"
)

// decisionFunc posts a person's decision to the place's server.
type decisionFunc func(ctx context.Context, place *apiclient.Place, id, by string) (approval.Decided, error)

const decidingCodes = `

Exit codes: 0 decided; 1 no such pending approval, or no server answers; 78 the server requires another write token
(TASK_MONITOR_WRITE_TOKEN), or ID or a flag is invalid.`

func newApprovalsApprove(p *process) *cobra.Command {
	var set []string
	cmd := p.newDecision("approve ID", "Approve a task, a plan or a call of a tool",
		`Asks the running server to let a task start, to grant the tools of a plan to the agent that submitted it, for its task, or to have a call of a
tool made, once. A call that wants input (openclawd approvals show names its fields) is made again with what --set gives. The agent is
notified. The decision is on disk when the command ends.`+decidingCodes,
		"  openclawd approvals approve task_aa11\n  openclawd approvals approve plan_6b1f0c9d2e3a4b5c6d7e --by 민수 --json\n"+
			"  openclawd approvals approve call_q0b1c2d3e4f5061728394 --set email=mina@example.com --set seats=2",
		func(ctx context.Context, place *apiclient.Place, id, by string) (approval.Decided, error) {
			values, err := valuesSet(set)
			if err != nil {
				return approval.Decided{}, err
			}
			return place.Answer(ctx, id, by, values)
		})
	cmd.Flags().StringArrayVar(&set, "set", nil, "`NAME=VALUE` for a field that a call asks for; several choices with commas; may be repeated")
	return cmd
}

// valuesSet reads the values of --set.
func valuesSet(set []string) (map[string]string, error) {
	values := map[string]string{}
	for _, one := range set {
		name, value, is := strings.Cut(one, "=")
		_, twice := values[name]
		switch {
		case !is || name == "":
			return nil, &config.SettingError{Setting: "--set", Value: one, HintText: "write NAME=VALUE, for example --set email=mina@example.com"}
		case twice:
			return nil, &config.SettingError{Setting: "--set", Value: one, HintText: "give " + name + " once"}
		}
		values[name] = value
	}
	return values, nil
}

func newApprovalsReject(p *process) *cobra.Command {
	var reason string
	cmd := p.newDecision("reject ID", "Reject a task, a plan or a call of a tool and give the reason",
		`Asks the running server to cancel a waiting task, to reject a plan or to refuse a call. The agent is given the reason. The decision is on disk when the command
ends.`+decidingCodes,
		`  openclawd approvals reject task_aa11 --reason "not before the release"
  openclawd approvals reject task_aa11 --reason "너무 크다" --by 민수 --json`,
		func(ctx context.Context, place *apiclient.Place, id, by string) (approval.Decided, error) {
			if strings.TrimSpace(reason) == "" {
				return approval.Decided{}, &config.SettingError{Setting: "--reason", Value: reason, HintText: "say what should be different: the agent is given the reason"}
			}
			return place.Reject(ctx, id, by, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says what should be different")
	return cmd
}

// newDecision builds the approve or reject command.
func (p *process) newDecision(use, short, long, example string, decide decisionFunc) *cobra.Command {
	var a serverFlags
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
		ValidArgsFunction: completeFirst(func(ctx context.Context) []cobra.Completion { return p.completeApprovals(ctx, a.stateDir, a.db) }),
	}
	a.addFlags(cmd)
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of the person who decides (default: your user name)")
	return cmd
}

// approvalNamed rejects a blank id.
func approvalNamed(id string) error {
	if strings.TrimSpace(id) != "" {
		return nil
	}
	return &config.SettingError{Setting: "ID", Value: id, Err: errors.New("it is missing or blank"), HintText: hintApprovals}
}

const hintApprovals = "openclawd approvals lists the pending approvals"

// decidingError translates a server's refusal into the terms of this command. by is the value of --by, "" for none.
func decidingError(err error, by string) error {
	refused, ok := errors.AsType[*apiclient.RefusedError](err)
	switch {
	case !ok:
		return err
	case refused.Why == "not_found":
		refused.HintText = hintApprovals
	case refused.Field == "by" && by == "":
		refused.HintText = "that is your user name: give another name with --by NAME"
	case refused.Field == "by":
		return &config.SettingError{Setting: "--by", Value: by, Err: errors.New(refused.Text), HintText: refused.HintText}
	}
	return err
}

// decidedAnswer is the JSON output of approvals approve and reject.
type decidedAnswer struct {
	OK bool `json:"ok"`
	approval.Decided
}

func (p *process) writeDecided(done *approval.Decided, asJSON bool) error {
	if asJSON {
		return output.JSONLine(p.stdout, decidedAnswer{true, *done})
	}
	status := output.Printable(done.Status)
	if done.Scope != "" && done.Status == approval.Approved {
		status += " from now on"
	}
	_, err := fmt.Fprintf(p.stdout, "%s %s of %s is %s, decided by %s\n", done.Kind, output.Printable(done.ID), output.Printable(done.AgentID), status,
		output.Printable(done.DecidedBy))
	return err
}

// person is the name of the current user; "" if unknown.
func (p *process) person() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return personNamed(who.Username)
	}
	return personNamed(p.getenv("USER"))
}

// personNamed is a user name on one line, without a Windows domain.
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
