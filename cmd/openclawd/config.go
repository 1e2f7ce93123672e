package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server/rights"
	"github.com/pronto-lab/openclawd/server/settings"
)

func newConfig(p *process) *cobra.Command {
	return newGroup("config", "Inspect the configuration", newConfigCheck(p), newConfigImport(p), newConfigShow(p))
}

type configCheckFlags struct {
	stateDir string
	online   bool
	asJSON   bool
}

func newConfigCheck(p *process) *cobra.Command {
	var c configCheckFlags
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the configuration without changing it",
		Long: `Reads openclaw.json, or FILE, as openclawd serve does, and lists every problem: its position, the setting, and how to fix it. Secrets are
never shown. Nothing is written, and no server is needed or affected. With --online the services of the configured channels are asked for what
each bot lacks: a token, a scope, an intent, a right in a group, or its updates, which another program takes.

An error keeps the server from using the configuration; it continues with the last good one. A warning does not: an unknown key, for
instance, may belong to another program. An agent that would be left out is an error.

Files of OpenClaw are read as they are, from 2026.2 to 2026.9: agents.list and agents.entries, and settings at their older places. Settings that
openclawd ignores are listed in two groups: not supported yet, and not relevant to openclawd.

Exit codes: 0 no errors; 78 errors, or FILE does not exist.`,
		Example: `  openclawd config check                          # openclaw.json in the state directory
  openclawd config check team/openclaw.json
  openclawd config check --state-dir ./home --json
  openclawd config check --online`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && c.stateDir != "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("give either a FILE or a --state-dir")}
			}
			return p.checkConfig(cmd.Context(), c, args)
		},
	}
	cmd.Flags().StringVar(&c.stateDir, "state-dir", "", "state `DIR` with the openclaw.json to check (default ~/.openclaw)")
	cmd.Flags().BoolVar(&c.online, "online", false, "also ask Discord, Telegram and Slack which rights the bots lack")
	cmd.Flags().BoolVar(&c.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// agentText is an agent with its name.
func agentText(a config.ReportedAgent) string {
	notes := slices.DeleteFunc([]string{a.Name}, func(s string) bool { return s == "" || s == a.ID })
	if a.Default {
		notes = append(notes, "default")
	}
	if len(notes) == 0 {
		return a.ID
	}
	return a.ID + " (" + strings.Join(notes, ", ") + ")"
}

func (p *process) checkConfig(ctx context.Context, c configCheckFlags, args []string) error {
	path, err := p.configPath(c.stateDir, args)
	if err != nil {
		return err
	}
	var more []func(*config.Config) config.Findings
	if c.online {
		more = append(more, func(loaded *config.Config) config.Findings { return rights.Check(ctx, loaded, rights.Options{}) })
	}
	report := settings.CheckFile(path, p.getenv, more...)
	if len(args) == 1 && !report.Found {
		return &config.SettingError{Setting: "configuration", Value: path, Err: errors.New("the file does not exist"), HintText: "name an existing file"}
	}
	write := p.writeConfigReport
	if c.asJSON {
		write = func(report *config.Report) error { return output.JSON(p.stdout, report) }
	}
	if err := write(&report); err != nil {
		return err
	}
	if !report.Usable {
		return &config.SettingError{Setting: "configuration", Value: path, Err: fmt.Errorf("cannot be used: %s", counts(&report)),
			HintText: "fix the listed errors and check again; until then openclawd serve uses the last good configuration"}
	}
	return nil
}

// configPath is the file to check.
func (p *process) configPath(stateDir string, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	if stateDir == "" {
		var err error
		if stateDir, err = p.stateDir(); err != nil {
			return "", err
		}
	}
	return settings.File(stateDir), nil
}

func (p *process) writeConfigReport(report *config.Report) error {
	if !report.Found {
		_, err := fmt.Fprintf(p.stdout, "no configuration at %s: openclawd uses its defaults and accepts every agent\n", report.File)
		return err
	}
	if len(report.Findings) > 0 {
		rows := make([][]string, len(report.Findings))
		for i := range report.Findings {
			f := &report.Findings[i]
			rows[i] = []string{string(f.Severity), f.Where(), f.Path, f.Message, f.Hint}
		}
		if err := output.Table(p.stdout, []string{"SEVERITY", "WHERE", "SETTING", "FINDING", "HINT"}, rows); err != nil {
			return err
		}
	}
	if err := p.writeUnsupported(report); err != nil || !report.Usable {
		return err
	}
	if len(report.Team) > 0 {
		if _, err := fmt.Fprintf(p.stdout, "agents: %s\n", joined(report.Team)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "%s can be used: %s, %s, hash %.12s\n", report.File, counts(report),
		output.Count(int64(report.Agents), "agent"), report.Hash)
	return err
}

// writeUnsupported lists the ignored settings by group and position.
func (p *process) writeUnsupported(report *config.Report) error {
	if len(report.Unsupported) == 0 {
		return nil
	}
	var rows [][]string
	var groups strings.Builder
	for _, group := range config.Groups() {
		of := slices.DeleteFunc(slices.Clone(report.Unsupported), func(u config.Unsupported) bool { return u.Group != group })
		for i := range of {
			rows = append(rows, []string{group.String(), of[i].Where(), of[i].String()})
		}
		if len(of) > 0 {
			fmt.Fprintf(&groups, "%s: %s\n", group, config.Together(of))
		}
	}
	if report.MoreUnsupported > 0 {
		fmt.Fprintf(&groups, "%d more ignored settings not shown\n", report.MoreUnsupported)
	}
	if err := output.Table(p.stdout, []string{"SET, BUT IGNORED", "WHERE", "SETTING"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprint(p.stdout, groups.String())
	return err
}

func joined(team []config.ReportedAgent) string {
	names := make([]string, len(team))
	for i, a := range team {
		names[i] = agentText(a)
	}
	return strings.Join(names, ", ")
}

// counts tells the number of findings.
func counts(r *config.Report) string {
	return output.Count(int64(r.Errors), "error") + ", " + output.Count(int64(r.Warnings), "warning")
}
