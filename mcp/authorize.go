package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// authorizer gives requests to a server the token that a person has granted, and renews it. It never asks a person: see Login.
type authorizer struct {
	server *server
	grants grants
	mu     sync.Mutex // one renewal at a time
}

// LoginError reports a server that needs a person to grant access.
type LoginError struct {
	Server string
	Scopes []string // that it asks for; none: unknown
}

func (e *LoginError) Error() string {
	text := fmt.Sprintf("it needs a login: run openclawd mcp login %s", e.Server)
	if len(e.Scopes) > 0 {
		text += ", for " + strings.Join(e.Scopes, " ")
	}
	return text
}

// Code is the stable code of the error.
func (e *LoginError) Code() string { return "mcp.login_required" }

// Hint says what to do.
func (e *LoginError) Hint() string { return "openclawd mcp login " + e.Server }

// TokenSource implements auth.OAuthHandler. The grant is read for each request, so that a login counts at once.
func (a *authorizer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.load()
	if err != nil || g == nil || g.Token == nil {
		return nil, err
	}
	if !g.Token.Valid() && g.Token.RefreshToken != "" {
		if err := a.renew(ctx, g); err != nil {
			return nil, err
		}
	}
	return oauth2.StaticTokenSource(g.Token), nil
}

func (a *authorizer) load() (*grant, error) {
	g, err := a.grants.load(a.server.conf.Name, a.server.conf.URL.Reveal())
	if g != nil && g.Token != nil {
		a.server.hide.also(g.ClientSecret, g.Token.AccessToken, g.Token.RefreshToken)
	}
	return g, err
}

// renew replaces a token by means of its refresh token, with the lock held. A refresh token that is refused is forgotten.
func (a *authorizer) renew(ctx context.Context, g *grant) error {
	conf := oauth2.Config{ClientID: g.ClientID, ClientSecret: g.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle}}
	ctx, stop := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, tokenClient()), tokenTime)
	defer stop()
	next, err := conf.TokenSource(ctx, &oauth2.Token{RefreshToken: g.Token.RefreshToken}).Token()
	if refused := (*oauth2.RetrieveError)(nil); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		g.Token.RefreshToken = ""
		return errors.Join(a.grants.save(a.server.conf.Name, g), a.needsLogin(nil))
	}
	if err != nil {
		return fmt.Errorf("renew its token: %s", a.server.shown(err.Error(), maxProblem))
	}
	g.Token = next
	a.server.hide.also(g.ClientSecret, next.AccessToken, next.RefreshToken)
	return a.grants.save(a.server.conf.Name, g)
}

func (a *authorizer) needsLogin(scopes []string) error {
	return &LoginError{Server: a.server.conf.Name, Scopes: scopes}
}

// Authorize implements auth.OAuthHandler. It returns nil if the request may be made again: with another token, or to hear the refusal.
func (a *authorizer) Authorize(ctx context.Context, request *http.Request, refusal *http.Response) error {
	defer refusal.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(refusal.Body, maxMessage))
	scopes, missing := challenged(refusal)
	if refusal.StatusCode == http.StatusForbidden && !missing {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g, err := a.load()
	if err != nil {
		return err
	}
	if missing {
		if g != nil {
			g.Wanted = union(g.Wanted, scopes)
			err = a.grants.save(a.server.conf.Name, g)
		}
		return errors.Join(a.needsLogin(scopes), err)
	}
	used, _ := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	switch {
	case g == nil || g.Token == nil:
		return a.needsLogin(scopes)
	case used != g.Token.AccessToken:
		return nil // it was replaced meanwhile
	case g.Token.RefreshToken == "":
		return a.needsLogin(scopes)
	}
	return a.renew(ctx, g)
}

// challenged returns the scopes that a refusal asks for, and whether the token has too few.
func challenged(refusal *http.Response) (scopes []string, missing bool) {
	challenges, err := oauthex.ParseWWWAuthenticate(refusal.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, false
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			scopes = union(scopes, strings.Fields(c.Params["scope"]))
			missing = missing || c.Params["error"] == "insufficient_scope"
		}
	}
	return scopes[:min(len(scopes), maxScopes)], missing
}

// maxScopes bounds the scopes that a server can ask for.
const maxScopes = 100

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(all, one) && len(all) < maxScopes {
			all = append(all, one)
		}
	}
	return all
}

// tokenTime bounds one request to an authorization server.
const tokenTime = 30 * time.Second

// tokenClient is for requests to authorization servers: bounded, not led from https elsewhere, and without connections that stay.
func tokenClient() *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableKeepAlives, base.MaxResponseHeaderBytes = true, 64<<10
	return &http.Client{Timeout: tokenTime, Transport: bounded{base}, CheckRedirect: func(r *http.Request, before []*http.Request) error {
		if len(before) > maxRedirects || before[0].URL.Scheme != r.URL.Scheme {
			return errors.New("it refers to another address too often, or to one of another kind")
		}
		return nil
	}}
}

// bounded bounds answers.
type bounded struct{ base http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.base.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxMessage)
	}
	return answer, err
}
