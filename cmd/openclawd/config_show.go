package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server/settings"
)

func newConfigShow(p *process) *cobra.Command {
	var stateDir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the effective settings of serve and their sources",
		Long: `Shows the settings of the Task-Monitor API and of the gateway with the values that openclawd serve would use here and now: from
environment variables, else from openclaw.json, else defaults; flags of serve override all of them. --json includes the whole configuration,
with included files and variables resolved. Secrets are shown as ***, or empty if unset.

Exit codes: 0 done; 78 the configuration cannot be used: openclawd config check explains why.`,
		Example: `  openclawd config show
  openclawd config show --state-dir ./home --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.showConfig(stateDir, asJSON) },
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "state `DIR` with the openclaw.json (default ~/.openclaw)")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
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
	shown := settings.Effective(path, loaded, s, gateway)
	if asJSON {
		return output.JSON(p.stdout, shown)
	}
	rows := make([][]string, len(shown.Settings))
	for i, one := range shown.Settings {
		rows[i] = []string{one.Name, fmt.Sprint(one.Value), one.Source}
	}
	return output.Table(p.stdout, []string{"SETTING", "VALUE", "FROM"}, rows)
}
