package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/pronto-lab/openclawd/config"
)

// usualRedirect is where the browser of a person ends after a grant, as in OpenClaw.
const usualRedirect = "http://127.0.0.1:8989/oauth/callback"

// Ask has a person open an address in a browser, and returns the address at which the browser ends, which begins with redirect.
type Ask func(ctx context.Context, address, redirect string) (*url.URL, error)

// LoginFile has a person grant access to a server of a configuration file, and keeps the grant in a directory. Errors are *NoServerError,
// those of the file, or say why access was not granted.
func LoginFile(ctx context.Context, path string, getenv func(string) string, dir, name string, ask Ask) error {
	loaded, findings := config.Load(path, getenv)
	if err := findings.Err(); err != nil {
		return err
	}
	conf := loaded.MCPServerNamed(name)
	if conf == nil {
		return &NoServerError{name}
	}
	return Login(ctx, Options{Config: func() *config.Config { return loaded }, Logger: slog.New(slog.DiscardHandler), Getenv: getenv, Grants: dir}, conf, ask)
}

// Login has a person grant access to a server.
func Login(ctx context.Context, o Options, conf *config.MCPServer, ask Ask) error {
	if conf.OAuth == nil {
		return &NoOAuthError{conf.Name}
	}
	s := newServer(&o, *conf)
	l := &login{server: s, grants: grants{o.Grants}, ask: ask}
	handler, err := auth.NewAuthorizationCodeHandler(l.options())
	if err != nil {
		return err
	}
	s.oauth = handler
	c, err := connect(ctx, s, 0)
	if err == nil {
		err = c.list(ctx)
		c.close()
	}
	switch {
	case err != nil:
		return fmt.Errorf("log in to MCP server %s: %s", conf.Name, s.shown(err.Error(), maxProblem))
	case !l.granted:
		return fmt.Errorf("MCP server %s asks for no login", conf.Name)
	}
	return nil
}

// NoOAuthError reports a server whose configuration has no login.
type NoOAuthError struct{ Name string }

func (e *NoOAuthError) Error() string { return fmt.Sprintf("MCP server %s has no login", e.Name) }

// Code is the stable code of the error.
func (e *NoOAuthError) Code() string { return "no_oauth" }

// Hint says what to do.
func (e *NoOAuthError) Hint() string {
	return fmt.Sprintf(`set mcp.servers.%s.auth to "oauth"; the server must have a url`, e.Name)
}

// login is one login.
type login struct {
	server  *server
	grants  grants
	ask     Ask
	granted bool
}

// options are those of the library's flow: it finds the authorization server, registers this program there unless the configuration names a
// client, and exchanges what the browser brings for a token.
func (l *login) options() *auth.AuthorizationCodeHandlerConfig {
	conf := l.server.conf.OAuth
	redirect := cmp.Or(conf.RedirectURL, usualRedirect)
	o := &auth.AuthorizationCodeHandlerConfig{RedirectURL: redirect, RequestRefreshToken: true, Client: tokenClient(), ScopeFilter: l.scopes, NewTokenSource: l.keep,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return l.code(ctx, args.URL, redirect)
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "openclawd",
			RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}}}}
	if conf.ClientMetadataURL != "" {
		o.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: conf.ClientMetadataURL}
	}
	if conf.ClientID != "" {
		o.PreregisteredClient = &oauthex.ClientCredentials{ClientID: conf.ClientID}
		if secret := conf.ClientSecret.Reveal(); secret != "" {
			o.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	}
	return o
}

// scopes are those of the configuration, else what the server asks for, and what it has asked for since the last login.
func (l *login) scopes(discovered []string) []string {
	asked := discovered
	if own := strings.Fields(l.server.conf.OAuth.Scope); len(own) > 0 {
		asked = own
	}
	before, err := l.grants.load(l.server.conf.Name, l.server.conf.URL.Reveal())
	if err != nil || before == nil || len(before.Wanted) == 0 {
		return asked
	}
	return union(asked, union(before.Scopes, before.Wanted))
}

// code asks the person.
func (l *login) code(ctx context.Context, address, redirect string) (*auth.AuthorizationResult, error) {
	end, err := l.ask(ctx, address, redirect)
	if err != nil {
		return nil, err
	}
	q := end.Query()
	if refused := q.Get("error"); refused != "" {
		return nil, errors.New(strings.TrimSpace("access was not granted: " + refused + " " + q.Get("error_description")))
	}
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// keep keeps a token, before it is used.
func (l *login) keep(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	l.server.hide.also(c.ClientSecret, t.AccessToken, t.RefreshToken)
	l.granted = true
	g := &grant{URL: l.server.conf.URL.Reveal(), ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle,
		Scopes: c.Scopes, Token: t}
	return oauth2.StaticTokenSource(t), l.grants.save(l.server.conf.Name, g)
}

// Logout removes the grant for a server from a directory, and reports whether there was one. The authorization server is not told.
func Logout(dir, name string) (was bool, err error) { return grants{dir}.remove(name) }
