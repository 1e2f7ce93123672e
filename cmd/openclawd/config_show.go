package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

func newConfigShow(p *process) *cobra.Command {
	var stateDir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the settings that serve would go by, and who sets them",
		Long: `Shows the settings of the Task-Monitor API and of the gateway with the values that openclawd serve would use here and now: from
environment variables, else from openclaw.json, else defaults; flags of serve win over all of them. With --json the whole configuration
comes too, included files and variables in place. Secrets are shown as ***, and as nothing where none is set.

Exit codes: 0 done; 78 the configuration cannot be used: openclawd config check says why.`,
		Example: `  openclawd config show
  openclawd config show --state-dir ./home --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.showConfig(stateDir, asJSON) },
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// configShown is the answer of config show.
type configShown struct {
	File          string           `json:"file"`
	Found         bool             `json:"found"`
	Files         []string         `json:"files"` // that it is made of
	Hash          string           `json:"hash"`
	Settings      []settings.Shown `json:"settings"`
	Configuration json.RawMessage  `json:"configuration"` // masked
}

func (p *process) showConfig(stateDir string, asJSON bool) error {
	path, err := p.configPath(stateDir, nil)
	if err != nil {
		return err
	}
	loaded, findings := config.Load(path, p.getenv)
	if err := findings.Err(); err != nil {
		return settings.Unusable(path, err)
	}
	s := settings.Of(loaded, p.getenv, "", nil)
	if err := s.Check(); err != nil {
		return err
	}
	gateway := settings.GatewayOf(loaded, p.getenv, "", nil)
	shown := configShown{File: path, Found: loaded.Found, Files: loaded.Files, Hash: loaded.Hash(),
		Settings: append(s.Shown(loaded), gateway.Shown(loaded)...), Configuration: loaded.Masked()}
	if asJSON {
		return output.JSON(p.stdout, shown)
	}
	rows := make([][]string, len(shown.Settings))
	for i, one := range shown.Settings {
		rows[i] = []string{one.Name, fmt.Sprint(one.Value), one.Source}
	}
	return output.Table(p.stdout, []string{"SETTING", "VALUE", "FROM"}, rows)
}
