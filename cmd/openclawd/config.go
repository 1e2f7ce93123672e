package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

func newConfig(p *process) *cobra.Command {
	return newGroup("config", "Look at the configuration", newConfigCheck(p), newConfigShow(p))
}

// checking holds the flags of config check.
type checking struct {
	stateDir string
	asJSON   bool
}

func newConfigCheck(p *process) *cobra.Command {
	var c checking
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with the configuration, without changing it",
		Long: `Reads openclaw.json, or FILE, as openclawd serve does, and lists everything that is wrong or odd: where it stands, which setting it is,
and what to do about it. Secrets are never shown. Nothing is written, and no server is needed or disturbed.

An error keeps the server from using the configuration; it goes on with the last good one. A warning does not: a key that openclawd
does not know, for instance, may be one of another program. An agent that would be left out is an error.

Files of OpenClaw are read as they are, from 2026.2 to 2026.9: agents.list and agents.entries, and settings at their older places. What such
a file sets and openclawd does not go by is listed by its place, in two groups: what openclawd does not do yet, and what does not matter to it.

Exit codes: 0 there is no error; 78 there is one, or FILE is not there.`,
		Example: `  openclawd config check                          # openclaw.json in the state directory
  openclawd config check team/openclaw.json
  openclawd config check --state-dir ./home --json`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && c.stateDir != "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("name either a FILE or a --state-dir")}
			}
			return p.checkConfig(c, args)
		},
	}
	cmd.Flags().StringVar(&c.stateDir, "state-dir", "", "state `DIR` with the openclaw.json to check (default ~/.openclaw)")
	cmd.Flags().BoolVar(&c.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// configReport is the answer of config check. Hash is "" if the configuration cannot be used.
type configReport struct {
	File     string          `json:"file"`
	Found    bool            `json:"found"`
	Usable   bool            `json:"usable"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Agents   int             `json:"agents"`
	Hash     string          `json:"hash"`
	Findings config.Findings `json:"findings"`

	Team            []configuredAgent    `json:"team"`
	Unsupported     []config.Unsupported `json:"unsupported"`     // what the files set and openclawd does not go by
	MoreUnsupported int                  `json:"moreUnsupported"` // settings that are left out of it
}

// configuredAgent is an agent that the configuration has.
type configuredAgent struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"default"` // answers where nobody is named
}

func (a configuredAgent) String() string {
	notes := slices.DeleteFunc([]string{a.Name}, func(s string) bool { return s == "" || s == a.ID })
	if a.Default {
		notes = append(notes, "default")
	}
	if len(notes) == 0 {
		return a.ID
	}
	return a.ID + " (" + strings.Join(notes, ", ") + ")"
}

// configuredAgents are the agents of a configuration, in its order.
func configuredAgents(c *config.Config) []configuredAgent {
	all := []configuredAgent{}
	applied, usual := c.Applied(), c.DefaultAgentID() // Applied shows no secret
	for _, a := range applied.Agents {
		all = append(all, configuredAgent{ID: a.ID, Name: a.Name, Default: strings.EqualFold(a.ID, usual)})
	}
	return all
}

func (p *process) checkConfig(c checking, args []string) error {
	path, err := p.configPath(c.stateDir, args)
	if err != nil {
		return err
	}
	loaded, findings := config.Load(path, p.getenv)
	findings = append(findings, catalogue.Check(loaded)...)
	findings = append(findings, settings.CheckModels(loaded, p.getenv)...)
	findings = append(findings, settings.CheckBots(loaded)...)
	if len(args) == 1 && !loaded.Found {
		return &settings.Error{Setting: "configuration", Value: path, Err: errors.New("there is no such file"), Mend: "name a file that is there"}
	}
	report := configReport{
		File: path, Found: loaded.Found, Usable: findings.Err() == nil, Agents: len(loaded.Agents),
		Errors: findings.Count(config.Error), Warnings: findings.Count(config.Warning),
		Findings: append(config.Findings{}, findings...), // [], not null
		Team:     configuredAgents(loaded), Unsupported: append([]config.Unsupported{}, loaded.Unsupported...), MoreUnsupported: loaded.MoreUnsupported,
	}
	if report.Usable {
		report.Hash = loaded.Hash()
	}
	write := p.writeConfigReport
	if c.asJSON {
		write = func(report *configReport) error { return output.JSON(p.stdout, report) }
	}
	if err := write(&report); err != nil {
		return err
	}
	if !report.Usable {
		return &settings.Error{Setting: "configuration", Value: path, Err: fmt.Errorf("cannot be used: %s", report.counts()),
			Mend: "mend what is listed and check again; until then openclawd serve goes on with the last good configuration"}
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

func (p *process) writeConfigReport(report *configReport) error {
	if !report.Found {
		_, err := fmt.Fprintf(p.stdout, "there is no configuration at %s: openclawd goes by its defaults and takes every agent as it comes\n", report.File)
		return err
	}
	if len(report.Findings) > 0 {
		rows := make([][]string, len(report.Findings))
		for i := range report.Findings {
			f := &report.Findings[i]
			rows[i] = []string{string(f.Severity), f.Where(), f.Path, f.Message, f.Mend}
		}
		if err := output.Table(p.stdout, []string{"SEVERITY", "WHERE", "SETTING", "FINDING", "MEND"}, rows); err != nil {
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
	_, err := fmt.Fprintf(p.stdout, "%s can be used: %s, %s, hash %.12s\n", report.File, report.counts(),
		output.Count(int64(report.Agents), "agent"), report.Hash)
	return err
}

// writeUnsupported lists what the files set and openclawd does not go by: by place, then in groups.
func (p *process) writeUnsupported(report *configReport) error {
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
		fmt.Fprintf(&groups, "%d more settings that openclawd does not go by are not listed\n", report.MoreUnsupported)
	}
	if err := output.Table(p.stdout, []string{"SET, AND NOT GONE BY", "WHERE", "SETTING"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprint(p.stdout, groups.String())
	return err
}

func joined(team []configuredAgent) string {
	names := make([]string, len(team))
	for i, a := range team {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}

func (r *configReport) counts() string {
	return output.Count(int64(r.Errors), "error") + ", " + output.Count(int64(r.Warnings), "warning")
}
