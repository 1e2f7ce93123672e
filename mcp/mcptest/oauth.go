package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// OAuth is a server whose tools need a token, and the authorization server that grants it to everyone at once.
type OAuth struct {
	*httptest.Server
	mu      sync.Mutex
	n       int
	access  string              // the token in force
	refresh string              // each is used once
	scopes  []string            // of the token in force
	codes   map[string][]string // codes that were not used yet, with their scopes
	needs   string              // a scope that calls of tools need
	asked   [][]string          // scopes that were asked for
	renewed int
	refuses bool // refresh tokens
}

// NewOAuth starts a server.
func NewOAuth() *OAuth {
	o := &OAuth{codes: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		o.answer(w, map[string]any{"resource": o.URL + "/mcp", "authorization_servers": []string{o.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		o.answer(w, map[string]any{"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token",
			"registration_endpoint": o.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "client", "client_secret": "client-secret-of-test", "token_endpoint_auth_method": "client_secret_post"})
	})
	mux.HandleFunc("/authorize", o.authorize)
	mux.HandleFunc("/token", o.token)
	mux.Handle("/mcp", o.guard(Handler("Accept-Encoding", "gzip")))
	o.Server = httptest.NewServer(mux)
	return o
}

func (o *OAuth) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (o *OAuth) authorize(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := r.URL.Query()
	o.n++
	code, scopes := fmt.Sprint("code", o.n), strings.Fields(q.Get("scope"))
	o.codes[code], o.asked = scopes, append(o.asked, scopes)
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (o *OAuth) token(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	scopes, known := o.codes[r.FormValue("code")]
	delete(o.codes, r.FormValue("code"))
	switch {
	case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == o.refresh && !o.refuses:
		o.renewed++
	case known:
		o.scopes = scopes
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	o.n++
	o.access, o.refresh = fmt.Sprint("access-token-", o.n), fmt.Sprint("refresh-token-", o.n)
	o.answer(w, map[string]any{"access_token": o.access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": o.refresh})
}

// guard lets requests with the token in force through.
func (o *OAuth) guard(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		o.mu.Lock()
		known := o.access != "" && r.Header.Get("Authorization") == "Bearer "+o.access
		lacks := bytes.Contains(body, []byte(`"tools/call"`)) && o.needs != "" && !slices.Contains(o.scopes, o.needs)
		needs := o.needs
		o.mu.Unlock()
		challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, o.URL)
		switch {
		case !known:
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		case lacks:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, challenge, needs))
			w.WriteHeader(http.StatusForbidden)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// Revoke makes the token in force invalid; with refresh, the refresh token too.
func (o *OAuth) Revoke(refresh bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.access, o.refuses = "", refresh
}

// Need makes calls of tools need a scope.
func (o *OAuth) Need(scope string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.needs = scope
}

// Seen returns the scopes that were asked for, login by login, and how often a token was renewed.
func (o *OAuth) Seen() (asked [][]string, renewed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked), o.renewed
}
