package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
)

func newToken(p *process) *cobra.Command {
	var stateDir string
	var anew, asJSON bool
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the token that clients of the gateway show",
		Long: `Prints the token in force, and on standard error where it comes from: OPENCLAW_GATEWAY_TOKEN, else gateway.auth.token of openclaw.json,
else openclawd-gateway.token of the state directory, which openclawd serve makes when it needs one.

With --new a new token is put into that file. A running server takes it at once: clients that are connected stay, whoever connects then
has to know it, and device tokens that were made from the old one no longer count.

Exit codes: 0 done; 1 there is no token yet; 78 the token is set elsewhere (--new), or clients are not asked for one.`,
		Example: `  openclawd token
  OPENCLAW_GATEWAY_TOKEN=$(openclawd token) openclaw gateway call health
  openclawd token --new`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return p.token(stateDir, anew, asJSON) },
	}
	flags := cmd.Flags()
	flags.StringVar(&stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw)")
	flags.BoolVar(&anew, "new", false, "make a new one")
	flags.BoolVar(&asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

// tokenAnswer is the answer of token. Source is a variable, a key of openclaw.json, or file.
type tokenAnswer struct {
	Token  string `json:"token"`
	Source string `json:"source"`
	Path   string `json:"path,omitempty"` // of the file that holds it
	New    bool   `json:"new"`
}

const sourceTokenFile = "file"

func (p *process) token(stateDir string, anew, asJSON bool) error {
	place, err := p.place(asking{stateDir: stateDir})
	if err != nil {
		return err
	}
	if err := place.Findings.Err(); err != nil {
		return settings.Unusable(place.Config.File, err)
	}
	answer, err := tokenOf(place, anew)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(p.stdout, answer)
	}
	switch {
	case answer.New:
		fmt.Fprintf(p.stderr, "made anew in %s; a running server takes it at once, and lets nobody in with the old one\n", answer.Path)
	case answer.Path != "":
		fmt.Fprintf(p.stderr, "from %s\n", answer.Path)
	default:
		fmt.Fprintf(p.stderr, "from %s\n", answer.Source)
	}
	_, err = fmt.Fprintln(p.stdout, answer.Token)
	return err
}

func tokenOf(place *client.Place, anew bool) (*tokenAnswer, error) {
	g := &place.Gateway
	if err := g.CheckAuth(); err != nil {
		return nil, err
	}
	if g.Mode.Value != settings.ModeToken {
		return nil, &settings.Error{Setting: g.Mode.Source, Value: g.Mode.Value, Err: errors.New("clients of the gateway are asked for no token"),
			Mend: "with password they show gateway.auth.password or OPENCLAW_GATEWAY_PASSWORD, with none nothing; gateway.auth.mode token changes that"}
	}
	file := settings.TokenFile(place.StateDir)
	switch {
	case anew && !g.Kept():
		return nil, &settings.Error{Setting: "--new", Value: "true", Err: fmt.Errorf("the token is set by %s", g.Token.Source),
			Mend: "change it there, or remove it there"}
	case anew:
		token, err := settings.MakeToken(file, rand.Reader)
		return &tokenAnswer{token.Reveal(), sourceTokenFile, file, true}, err
	case !g.Kept():
		return &tokenAnswer{Token: g.Token.Value.Reveal(), Source: g.Token.Source}, nil
	}
	kept, err := settings.ReadToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &noTokenError{file}
	}
	return &tokenAnswer{Token: kept.Token.Reveal(), Source: sourceTokenFile, Path: file}, err
}

// noTokenError says that no token has been made yet.
type noTokenError struct{ path string }

func (e *noTokenError) Error() string { return "there is no token yet at " + e.path }
func (e *noTokenError) Unwrap() error { return fs.ErrNotExist }
func (e *noTokenError) Code() string  { return "no_token" }
func (e *noTokenError) Hint() string {
	return "openclawd serve makes one when it starts, openclawd token --new makes one now"
}
