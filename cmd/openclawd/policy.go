package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

func newPolicy(p *process) *cobra.Command {
	return newGroup("policy", "Look at what agents may do with each other", newPolicyExplain(p))
}

func newPolicyExplain(p *process) *cobra.Command {
	var stateDir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain FROM TO",
		Short: "Say whether one agent may write to another, which rule decides, and how to change it",
		Long: `Reads openclaw.json as openclawd serve does and says what the agent FROM may do with the agent TO: write to it (tools.agentToAgent), start
it as a sub-agent (subagents.allowAgents of an agent), and see its sessions (tools.sessions.visibility). No server is needed. The other
direction may differ.

Exit codes: 0 FROM may write to TO; 1 it may not; 78 the configuration cannot be used, or an agent is none of it.`,
		Example: "  openclawd policy explain eden seum\n  openclawd policy explain seum eden --state-dir ./team --json",
		Args:    positional(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.explainPolicy(stateDir, asJSON, args[0], args[1])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeConfigured(stateDir), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

func (p *process) explainPolicy(stateDir string, asJSON bool, from, to string) error {
	path, err := p.configPath(stateDir, nil)
	if err != nil {
		return err
	}
	loaded, findings := config.Load(path, p.getenv)
	if err := findings.Err(); err != nil {
		return settings.Unusable(path, err)
	}
	policy, err := server.Explain(loaded, from, to)
	if unknown, ok := errors.AsType[*monitor.NoAgentError](err); ok {
		return &settings.Error{Setting: strings.ToUpper(unknown.Field), Value: unknown.ID, Err: errors.New("there is no such agent"), Mend: unknown.Mend}
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = output.JSON(p.stdout, policy)
	} else {
		err = p.writePolicy(&policy)
	}
	if err == nil && !policy.Send.Allowed {
		err = &deniedError{&policy}
	}
	return err
}

func (p *process) writePolicy(policy *monitor.Policy) error {
	lines := []string{policy.From + " → " + policy.To}
	for _, one := range []struct {
		what string
		is   *monitor.Verdict
	}{{"write", &policy.Send}, {"spawn", &policy.Spawn}, {"see", &policy.Visible}} {
		may := "no"
		if one.is.Allowed {
			may = "yes"
		}
		lines = append(lines, fmt.Sprintf("%-7s %-4s %s (%s)", one.what, may, one.is.Why, one.is.Rule))
		if one.is.Mend != "" {
			lines = append(lines, fmt.Sprintf("%12s to allow it: %s", "", one.is.Mend))
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.stdout, output.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// deniedError says that one agent may not write to another.
type deniedError struct{ policy *monitor.Policy }

func (e *deniedError) Error() string {
	return fmt.Sprintf("%s may not write to %s: %s", e.policy.From, e.policy.To, e.policy.Send.Why)
}
func (e *deniedError) Code() string { return "policy_denied" }
func (e *deniedError) Hint() string { return e.policy.Send.Mend }

// completeConfigured lists the agents of the configuration.
func (p *process) completeConfigured(stateDir string) (list []cobra.Completion) {
	path, err := p.configPath(stateDir, nil)
	if err != nil {
		return nil
	}
	loaded, _ := config.Load(path, p.getenv)
	for i := range loaded.Agents {
		list = append(list, cobra.CompletionWithDesc(strings.ToLower(loaded.Agents[i].ID), loaded.Agents[i].Name))
	}
	return list
}
