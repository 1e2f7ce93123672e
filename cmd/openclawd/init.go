package main

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/durable"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/systemd"
	"github.com/pronto-lab/openclawd/server/settings"
)

// firstConfig is the openclaw.json of a new state directory. Lines that begin with // and no space are settings to be enabled; %d are the
// ports of the gateway and of the API.
//
//go:embed init.json5
var firstConfig string

type initFlags struct {
	stateDir      string
	port, apiPort int
	force, asJSON bool
}

const (
	defaultGatewayPort = 18789
	defaultAPIPort     = 3847
	maxPort            = 65535
)

func newInit(p *process) *cobra.Command {
	var b initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a state directory with a commented configuration and a gateway token",
		Long: `Creates the state directory if needed, writes an openclaw.json with comments and examples, and creates the token that gateway clients
present. Then it prints the addresses of the server and the next steps. Nothing is started.

An existing openclaw.json is not touched without --force, which keeps it as openclaw.json.bak, or under the first such name that is free. An
existing token, or one that is set elsewhere, is kept.

Exit codes: 0 done; 1 a configuration exists already; 78 invalid port, or the directory is not writable.`,
		Example: `  openclawd init
  openclawd init --state-dir ./team --port 18790 --api-port 3848
  openclawd init --force --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.initialize(b) },
	}
	flags := cmd.Flags()
	flags.StringVar(&b.stateDir, "state-dir", "", "state `DIR` to create (default ~/.openclaw)")
	flags.IntVar(&b.port, "port", defaultGatewayPort, "port `N` of the gateway")
	flags.IntVar(&b.apiPort, "api-port", defaultAPIPort, "port `N` of the Task-Monitor API")
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
	Next      []string `json:"next"` // commands
}

func (p *process) initialize(b initFlags) error {
	for flag, port := range map[string]int{"--port": b.port, "--api-port": b.apiPort} {
		if port < 1 || port > maxPort {
			return &config.SettingError{Setting: flag, Value: strconv.Itoa(port), HintText: "give a port from 1 to 65535"}
		}
	}
	if b.port == b.apiPort {
		return &config.SettingError{Setting: "--api-port", Value: strconv.Itoa(b.apiPort), Err: errors.New("the gateway uses that port"), HintText: "give each its own port"}
	}
	named := b.stateDir != ""
	if !named {
		var err error
		if b.stateDir, err = p.stateDir(); err != nil {
			return err
		}
	}
	path := settings.File(b.stateDir)
	kept, err := writeFirst(path, fmt.Sprintf(firstConfig, b.port, b.apiPort), b.force)
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
	fmt.Fprintf(&b, "\nAPI      %s\ngateway  %s\n\nnext:\n", a.API, a.Gateway)
	for _, command := range a.Next {
		fmt.Fprintf(&b, "  %s\n", command)
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// writeFirst writes a new file atomically. With force an existing one is kept beside it, and its new name returned.
func writeFirst(path, text string, force bool) (kept string, err error) {
	refuse := func(err error) error {
		return &config.SettingError{Setting: "--state-dir", Value: filepath.Dir(path), Err: err, HintText: "choose a directory that this user may write to"}
	}
	switch _, err := os.Lstat(path); {
	case err == nil && !force:
		return "", exists(path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", refuse(err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", refuse(err)
	}
	next, err := os.CreateTemp(dir, "."+settings.FileName+"-*") // mode 0600
	if err != nil {
		return "", refuse(err)
	}
	defer func() {
		if gone := os.Remove(next.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, refuse(gone))
		}
	}()
	_, err = next.WriteString(text)
	if err = errors.Join(cmp.Or(err, next.Sync()), next.Close()); err != nil {
		return "", refuse(err)
	}
	if force {
		if kept, err = keepAside(path); err != nil {
			return "", refuse(err)
		}
	}
	// Unlike a rename, a link never replaces a file created meanwhile.
	switch err := os.Link(next.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return kept, exists(path)
	case err != nil:
		if err := os.Rename(next.Name(), path); err != nil { // a file system without links
			return kept, refuse(err)
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return kept, refuse(err)
	}
	return kept, nil
}

// keepAside renames the file at path to the first free name of path.bak, path.bak-2 and so on; "" if there is no file.
func keepAside(path string) (kept string, err error) {
	kept = path + ".bak"
	for n := 2; ; n++ {
		switch _, err := os.Lstat(kept); {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.Rename(path, kept); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return "", nil
				}
				return "", err
			}
			return kept, nil
		case err != nil:
			return "", err
		}
		kept = path + ".bak-" + strconv.Itoa(n)
	}
}

func exists(path string) error {
	return &codedError{text: "a configuration exists already: " + path, code: "exists", err: fs.ErrExist,
		hint: "openclawd serve uses it, openclawd config check checks it; --force writes a new one and keeps this one beside it"}
}
