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

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// firstConfig is the openclaw.json of a new state directory. Lines that begin with // and no space are settings to be taken into use; %d are
// the ports of the gateway and of the API.
//
//go:embed init.json5
var firstConfig string

// beginning holds the flags of init.
type beginning struct {
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
	var b beginning
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a state directory: a configuration with comments, and the gateway's token",
		Long: `Makes the state directory if need be, writes openclaw.json with comments and examples into it, and makes the token that clients of the
gateway show. Then it says where the server will be and what to do next. Nothing is started.

An openclaw.json that is there is not touched, unless --force is given: then it stays beside the new one as openclaw.json.bak, or under
the first such name that is free. A token that is there, or set elsewhere, stays.

Exit codes: 0 done; 1 there is a configuration already; 78 a port is none, or the directory cannot be written.`,
		Example: `  openclawd init
  openclawd init --state-dir ./team --port 18790 --api-port 3848
  openclawd init --force --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.begin(b) },
	}
	flags := cmd.Flags()
	flags.StringVar(&b.stateDir, "state-dir", "", "state `DIR` to make (default ~/.openclaw)")
	flags.IntVar(&b.port, "port", defaultGatewayPort, "port of the gateway, `N`")
	flags.IntVar(&b.apiPort, "api-port", defaultAPIPort, "port of the Task-Monitor API, `N`")
	flags.BoolVar(&b.force, "force", false, "write a new openclaw.json where there is one; the old one stays beside it")
	flags.BoolVar(&b.asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// begun is the answer of init.
type begun struct {
	StateDir  string   `json:"stateDir"`
	Config    string   `json:"config"`
	Kept      string   `json:"kept,omitempty"`      // where the configuration before is now
	TokenFile string   `json:"tokenFile,omitempty"` // that holds the gateway's token; "" where something else lets clients in
	TokenMade bool     `json:"tokenMade"`
	API       string   `json:"api"`
	Gateway   string   `json:"gateway"`
	Next      []string `json:"next"` // commands
}

func (p *process) begin(b beginning) error {
	for flag, port := range map[string]int{"--port": b.port, "--api-port": b.apiPort} {
		if port < 1 || port > maxPort {
			return &settings.Error{Setting: flag, Value: strconv.Itoa(port), Mend: "give a port from 1 to 65535"}
		}
	}
	if b.port == b.apiPort {
		return &settings.Error{Setting: "--api-port", Value: strconv.Itoa(b.apiPort), Err: errors.New("the gateway has that port"), Mend: "give each a port of its own"}
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
	place := client.PlaceOf(b.stateDir, "", "", named, p.getenv)
	if err := place.Findings.Err(); err != nil {
		return settings.Unusable(path, err)
	}
	answer := &begun{StateDir: b.stateDir, Config: path, Kept: kept, API: "http://" + place.API, Gateway: "ws://" + place.Gateway.Listen.Value}
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
	return p.writeBegun(answer)
}

// nextCommands are what somebody does with a new state directory.
func (p *process) nextCommands(stateDir string, named bool, place *client.Place) []string {
	name, there := cmp.Or(p.name, "openclawd"), ""
	if named {
		there = " --state-dir " + shellQuote(stateDir)
	}
	next := []string{shellQuote(name) + " config check" + there, shellQuote(name) + " serve" + there, shellQuote(name) + ` agent "hello"` + there}
	if place.Gateway.Mode.Value == settings.ModeToken {
		next = append(next, shellQuote(name)+" token"+there)
	}
	return append(next, shellQuote(name)+" service install"+there)
}

func (p *process) writeBegun(a *begun) error {
	var b strings.Builder
	fmt.Fprintf(&b, "made %s\n", a.Config)
	if a.Kept != "" {
		fmt.Fprintf(&b, "kept what was there as %s\n", a.Kept)
	}
	switch {
	case a.TokenMade:
		fmt.Fprintf(&b, "made %s, which only you may read\n", a.TokenFile)
	case a.TokenFile != "":
		fmt.Fprintf(&b, "the token in %s stays\n", a.TokenFile)
	}
	fmt.Fprintf(&b, "\nAPI      %s\ngateway  %s\n\nnext:\n", a.API, a.Gateway)
	for _, command := range a.Next {
		fmt.Fprintf(&b, "  %s\n", command)
	}
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// writeFirst writes a file that is not there, all of it or nothing. With force one that is there is kept beside it, and its new name returned.
func writeFirst(path, text string, force bool) (kept string, err error) {
	refuse := func(err error) error {
		return &settings.Error{Setting: "--state-dir", Value: filepath.Dir(path), Err: err, Mend: "name a directory that this user may write to"}
	}
	switch _, err := os.Lstat(path); {
	case err == nil && !force:
		return "", &existsError{path}
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
	// A link takes no name that somebody has taken meanwhile, as a renamed file would.
	switch err := os.Link(next.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return kept, &existsError{path}
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

// keepAside gives the file at path the first free name of path.bak, path.bak-2 and so on; "" if there is no file.
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

// existsError says that there is a configuration already.
type existsError struct{ path string }

func (e *existsError) Error() string { return "there is a configuration already at " + e.path }
func (e *existsError) Unwrap() error { return fs.ErrExist }
func (e *existsError) Code() string  { return "exists" }
func (e *existsError) Hint() string {
	return "openclawd serve uses it, openclawd config check looks at it; --force writes a new one and keeps this one beside it"
}
