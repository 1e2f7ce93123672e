package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newSkills(p *process) *cobra.Command {
	var c configCheckFlags
	list := &cobra.Command{
		Use:     "list [AGENT]",
		Short:   "List the skills in agents' workspaces, and why some are not used",
		Long:    "Lists the SKILL.md files in the folder skills of agents' workspaces. Agents are told of those that are usable, and read them when they need them.",
		Example: "  openclawd skills list\n  openclawd skills list eden --json",
		Args:    positional(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := p.configPath(c.stateDir, nil)
			if err != nil {
				return err
			}
			return p.listSkills(path, strings.Join(args, ""), c.asJSON)
		},
	}
	list.Flags().StringVar(&c.stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	list.Flags().BoolVar(&c.asJSON, jsonFlag, false, "print JSON")
	return newGroup("skills", "Show the skills of agents", list)
}

func (p *process) listSkills(path, agent string, asJSON bool) error {
	conf, findings := config.Load(path, p.getenv)
	if err := findings.Err(); err != nil {
		return err
	}
	stateDir := filepath.Dir(path)
	skills, err := prompt.ListSkills(conf, stateDir, cmp.Or(p.getenv("HOME"), stateDir), agent)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(p.stdout, map[string]any{"skills": skills})
	}
	if len(skills) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no skills: a skill is a file skills/<name>/SKILL.md in an agent's workspace")
		return err
	}
	var rows [][]string
	for i := range skills {
		s := &skills[i]
		rows = append(rows, []string{s.Agent, s.Name, cmp.Or(s.Why, "usable"), s.Path, clip(s.Description, descriptionLetters)})
	}
	return output.Table(p.stdout, []string{"AGENT", "SKILL", "STATE", "FILE", "DESCRIPTION"}, rows)
}
