package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/config/first"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Ports of a trial, beside those that OpenClaw and Task-Monitor use.
const (
	trialGatewayPort = first.DefaultGatewayPort + 1
	trialAPIPort     = first.DefaultAPIPort + 1
)

type configImportFlags struct {
	stateDir      string
	trial, asJSON bool
	ports         config.Trial
}

func newConfigImport(p *process) *cobra.Command {
	var c configImportFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Copy an openclaw.json of OpenClaw, with comments on what has no effect",
		Long: `Writes FILE, an openclaw.json of OpenClaw 2026.2 to 2026.9, into the state directory: as it is, with a comment above each setting that has no
effect in openclawd or needs attention, and lists them. FILE is not changed, and an openclaw.json that exists is not replaced.

With --trial both programs may run: the copy has other ports, and its channels and scheduled jobs are switched off.

Exit codes: 0 done; 1 the state directory has an openclaw.json already; 78 FILE has errors, see config check, or does
not exist.`,
		Example: `  openclawd config import ~/.openclaw/openclaw.json --state-dir ~/.openclawd
  openclawd config import ~/.openclaw/openclaw.json --state-dir ~/.openclawd --trial --json`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return p.importConfig(c, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.stateDir, "state-dir", "", "state `DIR` to write to (default ~/.openclaw)")
	flags.BoolVar(&c.trial, "trial", false, "other ports, no channels, no scheduled jobs")
	flags.IntVar(&c.ports.Gateway, "port", trialGatewayPort, "port `N` of the gateway, with --trial")
	flags.IntVar(&c.ports.API, "api-port", trialAPIPort, "port `N` of the Task-Monitor API, with --trial")
	flags.BoolVar(&c.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func (p *process) importConfig(c configImportFlags, from string) (err error) {
	if c.stateDir == "" {
		if c.stateDir, err = p.stateDir(); err != nil {
			return err
		}
	}
	document := config.ReadDocument(from, p.getenv)
	if !document.Exists() {
		return &config.SettingError{Setting: "configuration", Value: from, Err: errors.New("the file does not exist"), HintText: "name an existing file"}
	}
	var trial *config.Trial
	if c.trial {
		trial = &c.ports
	}
	adopted, err := document.Adopt(trial)
	if err != nil {
		return settings.Unusable(from, err)
	}
	to := settings.File(c.stateDir)
	if _, err := first.Write(to, adopted.Text, false); err != nil {
		return err
	}
	if c.asJSON {
		return output.JSON(p.stdout, struct {
			Config string `json:"config"`
			*config.Adoption
		}{to, adopted})
	}
	rows := make([][]string, len(adopted.Notes))
	for i, n := range adopted.Notes {
		rows[i] = []string{n.Where, n.Setting, n.Effect}
	}
	if len(rows) > 0 {
		if err := output.Table(p.stdout, []string{"WHERE", "SETTING", "EFFECT"}, rows); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(p.stdout, "made %s; %s\n", output.Printable(to), output.Count(int64(len(rows)), "note"))
	return err
}
