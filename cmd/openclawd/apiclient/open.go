package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"

	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/ui"
)

// Link is a link to Task-Hub.
type Link struct {
	URL string `json:"url"`
	// ExpiresInSeconds is how long the one-time code in URL works; 0 if there is none.
	ExpiresInSeconds int  `json:"expiresInSeconds"`
	LoginRequired    bool `json:"loginRequired"` // a link without a code shows the login
}

// codeAnswer is an answer of POST /ui/code, with the members of a refusal.
type codeAnswer struct {
	Code             string `json:"code"`
	ExpiresInSeconds int    `json:"expiresInSeconds"`
	LoginRequired    bool   `json:"loginRequired"`

	Challenge string `json:"challenge"`
	Text      string `json:"error"`
	HintText  string `json:"hint"`
}

// OpenUI asks the place's server for a link to Task-Hub that logs in once. The server believes those who can read the
// key in its state directory. Only the place's own one is read, and the proof is for the address that was reached: an
// impostor there cannot choose the key, or have a proof that another server takes. Errors: *NoServerError, *RefusedError, *config.SettingError for a key that cannot be read.
func (p *Place) OpenUI(ctx context.Context) (Link, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	server, why := p.Status(ctx)
	if server == nil {
		return Link{}, &NoServerError{why}
	}
	link := Link{URL: "http://" + reachableAt(p.API) + ui.Base}
	first, at, err := p.askCode(ctx, netip.AddrPort{}, map[string]string{})
	if err != nil {
		return Link{}, err
	}
	link.LoginRequired = first.LoginRequired
	key, err := settings.ReadUIKey(settings.UIKeyFile(p.StateDir))
	if err != nil {
		if !link.LoginRequired {
			return link, nil
		}
		return Link{}, p.ofServer(err, server.StateDir)
	}
	second, _, err := p.askCode(ctx, at, map[string]string{"challenge": first.Challenge, "proof": ui.Proof(key.Key, first.Challenge, at)})
	var refused *RefusedError
	switch {
	case errors.As(err, &refused) && !link.LoginRequired:
		return link, nil // its key is not ours
	case err != nil:
		return Link{}, p.ofServer(err, server.StateDir)
	}
	link.URL, link.ExpiresInSeconds = link.URL+ui.CodeFragment+second.Code, second.ExpiresInSeconds
	return link, nil
}

// ofServer adds the state directory that the server names to an error about the key of another one.
func (p *Place) ofServer(err error, stateDir string) error {
	if stateDir == "" || sameFile(stateDir, p.StateDir) {
		return err
	}
	return fmt.Errorf("%w (the server's state directory is %q: name it with --state-dir)", err, stateDir)
}

// askCode posts to /ui/code, at the address in at if it is given, and returns the address that answered. A challenge is not an error.
func (p *Place) askCode(ctx context.Context, at netip.AddrPort, said map[string]string) (answer codeAnswer, from netip.AddrPort, err error) {
	body, err := json.Marshal(said)
	if err != nil {
		return answer, from, err
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		from, _ = netip.ParseAddrPort(c.Conn.RemoteAddr().String())
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+reachableAt(p.API)+ui.Base+"code", bytes.NewReader(body))
	if err != nil {
		return answer, from, fmt.Errorf("ask %s: %w", p.API, err)
	}
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	if at.IsValid() {
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at.String())
		}
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return answer, from, fmt.Errorf("ask %s: %w", p.API, err)
	}
	defer response.Body.Close()
	if response.Header.Get(ui.HeaderUI) == "" {
		return answer, from, &RefusedError{Text: "the server at " + p.API + " does not serve Task-Hub", Why: "ui_off",
			HintText: "start it without --ui off; programs built with the tag noui do not have the page"}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAskBytes)).Decode(&answer); err != nil {
		return answer, from, fmt.Errorf("POST %scode: unexpected response from %s: %w", ui.Base, p.API, err)
	}
	if response.StatusCode != http.StatusOK && answer.Challenge == "" {
		return answer, from, &RefusedError{Text: answer.Text, Why: "code_refused", HintText: answer.HintText}
	}
	return answer, from, nil
}
