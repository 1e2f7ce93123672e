package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newOpen(p *process) *cobra.Command {
	var a serverFlags
	var browser, end bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Print a link that opens Task-Hub, the web page of the running server",
		Long: `Asks the running server for a one-time code, and prints a link with it. The link logs a browser in once, within a minute; the session lasts 30
days, or until openclawd token --new. To show that it is the server's owner, the command reads openclawd-ui.key of the state directory.

Behind a proxy, replace the beginning of the link by the page's address there, up to /ui/.

--end-sessions ends all sessions instead, whether a server runs or not: every browser has to log in again. Only the user that runs the server
should do this, as it replaces openclawd-ui.key.

--browser opens the link. Other users of this machine can see it while the browser starts: on a shared machine, open the printed one.

Exit codes: 0 done; 1 no server answers, or it does not serve the page; 78 the key cannot be read.`,
		Example: "  openclawd open\n  openclawd open --browser\n  openclawd open --state-dir ./team\n  openclawd open --end-sessions",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case end && browser:
				return &usageError{cmd.CommandPath(), errors.New("--end-sessions opens no link: leave out --browser")}
			case end:
				return p.endSessions(a)
			}
			return p.openUI(cmd.Context(), a, browser)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&browser, "browser", false, "open the link in a browser")
	cmd.Flags().BoolVar(&end, "end-sessions", false, "end all sessions of the page instead of opening one")
	return cmd
}

// endedAnswer is the JSON output of open --end-sessions.
type endedAnswer struct {
	SessionsEnded bool `json:"sessionsEnded"`
}

func (p *process) endSessions(a serverFlags) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	if err := endSessions(place.StateDir); err != nil {
		return err
	}
	if a.asJSON {
		return output.JSON(p.stdout, endedAnswer{true})
	}
	_, err = fmt.Fprintf(p.stdout, "all sessions of Task-Hub with the state directory %s have ended\n", place.StateDir)
	return err
}

func (p *process) openUI(ctx context.Context, a serverFlags, browser bool) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	link, err := place.OpenUI(ctx)
	if err != nil {
		return err
	}
	if a.asJSON {
		err = output.JSON(p.stdout, link)
	} else {
		err = p.printLink(link)
	}
	if err != nil || !browser {
		return err
	}
	if err := startBrowser(ctx, link.URL); err != nil {
		return &codedError{text: "cannot open a browser: " + err.Error(), code: "no_browser", err: err, hint: "open the printed link"}
	}
	return nil
}

func (p *process) printLink(link apiclient.Link) error {
	_, err := fmt.Fprintln(p.stdout, link.URL)
	switch {
	case link.ExpiresInSeconds > 0:
		fmt.Fprintf(p.stderr, "the link works once, within %d seconds\n", link.ExpiresInSeconds)
	case link.LoginRequired:
		fmt.Fprintln(p.stderr, "the page asks for a token: run openclawd open as the user that runs the server to do without one")
	}
	return err
}

// startBrowser opens a URL as the desktop does.
func startBrowser(ctx context.Context, url string) error {
	switch runtime.GOOS {
	case "darwin":
		return exec.CommandContext(ctx, "open", url).Run()
	case "windows":
		return exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", url).Run()
	}
	return exec.CommandContext(ctx, "xdg-open", url).Run()
}
