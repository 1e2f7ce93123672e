package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config/first"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/server/settings"
)

type initFlags struct {
	stateDir           string
	answers            first.Answers
	force, asJSON, yes bool
}

func newInit(p *process) *cobra.Command {
	var b initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a state directory with a commented configuration and a gateway token",
		Long: `Creates the state directory if needed, writes an openclaw.json with comments and examples, and creates the token that gateway clients
present. Then it prints the addresses of the server and the next steps. Nothing is started.

On a terminal it asks for what no flag gives: the name of the first agent, its model, and the ports. With --yes or --json, and where input or
output is no terminal, it takes the defaults.

An existing openclaw.json is not touched without --force, which keeps it as openclaw.json.bak, or under the first such name that is free. An
existing token, or one that is set elsewhere, is kept.

Exit codes: 0 done; 1 a configuration exists already; 78 invalid port, or the directory is not writable.`,
		Example: `  openclawd init
  openclawd init --yes --agent Eden --model anthropic/claude-sonnet-4-5
  openclawd init --state-dir ./team --port 18790 --api-port 3848
  openclawd init --force --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.initialize(cmd.Context(), b, cmd.InOrStdin(), func(flag string) bool { return cmd.Flags().Changed(flag) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&b.stateDir, "state-dir", "", "state `DIR` to create (default ~/.openclaw)")
	flags.StringVar(&b.answers.Agent, "agent", first.DefaultAgent, "`NAME` of the first agent")
	flags.StringVar(&b.answers.Model, "model", "", "`PROVIDER/MODEL` of all agents (default: a built-in script answers)")
	flags.IntVar(&b.answers.GatewayPort, "port", first.DefaultGatewayPort, "port `N` of the gateway")
	flags.IntVar(&b.answers.APIPort, "api-port", first.DefaultAPIPort, "port `N` of the Task-Monitor API")
	flags.BoolVar(&b.yes, "yes", false, "ask nothing")
	flags.BoolVar(&b.force, "force", false, "replace an existing openclaw.json; the old one is kept beside it")
	flags.BoolVar(&b.asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// initResult is the JSON output of init.
type initResult struct {
	StateDir  string   `json:"stateDir"`
	Config    string   `json:"config"`
	Kept      string   `json:"kept,omitempty"`      // the previous configuration's new path
	TokenFile string   `json:"tokenFile,omitempty"` // the gateway token's file; "" if clients authenticate otherwise
	TokenMade bool     `json:"tokenMade"`
	API       string   `json:"api"`
	Gateway   string   `json:"gateway"`
	Missing   []string `json:"missing,omitempty"` // what the model needs
	Next      []string `json:"next"`              // commands
}

func (p *process) initialize(ctx context.Context, b initFlags, in io.Reader, given func(flag string) bool) error {
	if err := b.answers.Check(); err != nil {
		return err
	}
	named := b.stateDir != ""
	if !named {
		var err error
		if b.stateDir, err = p.stateDir(); err != nil {
			return err
		}
	}
	path := settings.File(b.stateDir)
	if _, err := os.Lstat(path); err == nil && !b.force {
		return &first.ExistsError{Path: path}
	}
	if !b.yes && !b.asJSON && isTerminal(in) && output.IsTerminal(p.stdout) {
		var err error
		if b.answers, err = first.Ask(ctx, in, p.stdout, b.answers, given); err != nil {
			return err
		}
	}
	text, err := b.answers.Text()
	if err != nil {
		return err
	}
	kept, err := first.Write(path, text, b.force)
	if err != nil {
		return err
	}
	place := apiclient.PlaceOf(b.stateDir, "", "", named, p.getenv)
	if err := place.Findings.Err(); err != nil {
		return settings.Unusable(path, err)
	}
	answer := &initResult{StateDir: b.stateDir, Config: path, Kept: kept, API: "http://" + place.API, Gateway: "ws://" + place.Gateway.Listen.Value}
	if file := settings.TokenFile(b.stateDir); place.Gateway.Kept() {
		if _, answer.TokenMade, err = place.Gateway.Keep(file, rand.Reader); err != nil {
			return err
		}
		answer.TokenFile = file
	}
	for _, f := range settings.CheckModels(place.Config, p.getenv) {
		answer.Missing = append(answer.Missing, f.Message+": "+f.Hint)
	}
	answer.Next = p.nextCommands(b.stateDir, named, place)
	if b.asJSON {
		return output.JSON(p.stdout, answer)
	}
	return p.writeInitResult(answer)
}

// nextCommands are the suggested next steps for a new state directory.
func (p *process) nextCommands(stateDir string, named bool, place *apiclient.Place) []string {
	name, there := cmp.Or(p.name, "openclawd"), ""
	if named {
		there = " --state-dir " + systemd.ShellQuote(stateDir)
	}
	next := []string{systemd.ShellQuote(name) + " config check" + there, systemd.ShellQuote(name) + " serve" + there, systemd.ShellQuote(name) + ` agent "hello"` + there}
	if place.Gateway.Mode.Value == settings.ModeToken {
		next = append(next, systemd.ShellQuote(name)+" token"+there)
	}
	return append(next, systemd.ShellQuote(name)+" service install"+there)
}

func (p *process) writeInitResult(a *initResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "made %s\n", a.Config)
	if a.Kept != "" {
		fmt.Fprintf(&b, "kept the previous configuration as %s\n", a.Kept)
	}
	switch {
	case a.TokenMade:
		fmt.Fprintf(&b, "created %s, readable only by you\n", a.TokenFile)
	case a.TokenFile != "":
		fmt.Fprintf(&b, "kept the token in %s\n", a.TokenFile)
	}
	for _, missing := range a.Missing {
		fmt.Fprintf(&b, "note: %s\n", output.Printable(missing))
	}
	fmt.Fprintf(&b, "\nAPI      %s\ngateway  %s\n\nnext:\n", a.API, a.Gateway)
	for _, command := range a.Next {
		fmt.Fprintf(&b, "  %s\n", command)
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}
