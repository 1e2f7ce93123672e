package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/access"
)

func newPolicy(p *process) *cobra.Command {
	return newGroup("policy", "Explain what agents may do with each other", newPolicyExplain(p))
}

func newPolicyExplain(p *process) *cobra.Command {
	var stateDir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain FROM TO",
		Short: "Explain whether one agent may write to another, and how to change it",
		Long: `Reads openclaw.json as openclawd serve does and shows what agent FROM may do with agent TO: write to it (tools.agentToAgent), start it as a
sub-agent (subagents.allowAgents of an agent), and see its sessions (tools.sessions.visibility), if the policies of tools leave FROM the tools
for that. No server is needed. The opposite direction may differ.

Exit codes: 0 FROM may write to TO; 1 it may not; 78 the configuration cannot be used, or lacks one of the agents.`,
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
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
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
	explained, err := access.Explain(loaded, from, to)
	if unknown, ok := errors.AsType[*policy.NoAgentError](err); ok {
		return &config.SettingError{Setting: strings.ToUpper(unknown.Field), Value: unknown.ID, Err: errors.New("no such agent"), HintText: unknown.Hint}
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = output.JSON(p.stdout, explained)
	} else {
		err = p.writePolicy(&explained)
	}
	if err == nil && !explained.Send.Allowed {
		err = &codedError{text: fmt.Sprintf("%s may not write to %s: %s", explained.From, explained.To, explained.Send.Why), code: "policy_denied", hint: explained.Send.Hint}
	}
	return err
}

func (p *process) writePolicy(x *policy.Policy) error {
	lines := []string{x.From + " → " + x.To}
	for _, one := range []struct {
		what string
		is   *policy.Verdict
	}{{"write", &x.Send}, {"spawn", &x.Spawn}, {"see", &x.Visible}} {
		may := "no"
		if one.is.Allowed {
			may = "yes"
		}
		lines = append(lines, fmt.Sprintf("%-7s %-4s %s (%s)", one.what, may, one.is.Why, one.is.Rule))
		if one.is.Hint != "" {
			lines = append(lines, fmt.Sprintf("%12s to allow it: %s", "", one.is.Hint))
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.stdout, output.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// completeConfigured completes the agents of the configuration.
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
