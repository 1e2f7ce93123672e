package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/server/settings"
)

func newToken(p *process) *cobra.Command {
	var stateDir string
	var create, asJSON bool
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the token for gateway clients",
		Long: `Prints the token in force, and on standard error its source: OPENCLAW_GATEWAY_TOKEN, else gateway.auth.token of openclaw.json, else
openclawd-gateway.token of the state directory, which openclawd serve creates when it needs one.

--new replaces the token in that file. A running server accepts the new one at once: connected clients stay connected, new connections need the
new token, and device tokens derived from the old one become invalid. All sessions of Task-Hub end, also where the token is set elsewhere and is
not replaced; openclawd open --end-sessions does that alone.

Exit codes: 0 done; 1 there is no token yet; 78 the token is set elsewhere (--new), or clients need none.`,
		Example: `  openclawd token
  OPENCLAW_GATEWAY_TOKEN=$(openclawd token) openclaw gateway call health
  openclawd token --new`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.token(stateDir, create, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	flags.BoolVar(&create, "new", false, "create a new one")
	flags.BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

// tokenAnswer is the JSON output of token. Source is a variable, a key of openclaw.json, or file.
type tokenAnswer struct {
	Token  string `json:"token"`
	Source string `json:"source"`
	Path   string `json:"path,omitempty"` // path of the token file
	New    bool   `json:"new"`
}

const sourceTokenFile = "file"

func (p *process) token(stateDir string, create, asJSON bool) error {
	place, err := p.place(serverFlags{stateDir: stateDir})
	if err != nil {
		return err
	}
	if err := place.Findings.Err(); err != nil {
		return settings.Unusable(place.Config.File, err)
	}
	if create {
		if err := endSessions(place.StateDir); err != nil {
			return err
		}
	}
	answer, err := tokenOf(place, create)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(p.stdout, answer)
	}
	switch {
	case answer.New:
		fmt.Fprintf(p.stderr, "new token written to %s; a running server accepts it at once, and no longer the old one\n", answer.Path)
	case answer.Path != "":
		fmt.Fprintf(p.stderr, "from %s\n", answer.Path)
	default:
		fmt.Fprintf(p.stderr, "from %s\n", answer.Source)
	}
	_, err = fmt.Fprintln(p.stdout, answer.Token)
	return err
}

func tokenOf(place *apiclient.Place, create bool) (*tokenAnswer, error) {
	g := &place.Gateway
	if err := g.CheckAuth(); err != nil {
		return nil, err
	}
	if g.Mode.Value != settings.ModeToken {
		return nil, &config.SettingError{Setting: g.Mode.Source, Value: g.Mode.Value, Err: errors.New("gateway clients do not authenticate with a token"),
			HintText: "with password they show gateway.auth.password or OPENCLAW_GATEWAY_PASSWORD, with none nothing; gateway.auth.mode token changes that"}
	}
	file := settings.TokenFile(place.StateDir)
	switch {
	case create && !g.Kept():
		return nil, &config.SettingError{Setting: "--new", Value: "true", Err: fmt.Errorf("the token is set by %s", g.Token.Source),
			HintText: "change it there, or remove it there; the sessions of Task-Hub have ended"}
	case create:
		token, err := settings.MakeToken(file, rand.Reader)
		return &tokenAnswer{token.Reveal(), sourceTokenFile, file, true}, err
	case !g.Kept():
		return &tokenAnswer{Token: g.Token.Value.Reveal(), Source: g.Token.Source}, nil
	}
	kept, err := settings.ReadToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &codedError{text: "there is no token yet at " + file, code: "no_token", err: fs.ErrNotExist,
			hint: "openclawd serve creates one when it starts, openclawd token --new creates one now"}
	}
	return &tokenAnswer{Token: kept.Token.Reveal(), Source: sourceTokenFile, Path: file}, err
}

// endSessions ends the sessions of Task-Hub: a running server takes the new key at once. Where the file of the key is gone, it still has one.
func endSessions(stateDir string) error {
	_, err := settings.MakeUIKey(settings.UIKeyFile(stateDir), rand.Reader)
	return err
}
