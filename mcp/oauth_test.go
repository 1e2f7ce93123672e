package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
)

// granted is a browser whose person grants all.
func granted(ctx context.Context, address, _ string) (*url.URL, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := browser.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return answer.Location()
}

// locked is a team with a server that needs a login.
type locked struct {
	*fixture
	oauth *mcptest.OAuth
}

func setupLocked(t *testing.T) *locked {
	t.Helper()
	o := mcptest.NewOAuth()
	t.Cleanup(o.Close)
	return &locked{setup(t, func(*fixture) string { return fmt.Sprintf(`web: {url: %q, auth: 'oauth'}`, o.URL+"/mcp") }), o}
}

func (h *locked) login() {
	h.t.Helper()
	err := mcp.Login(h.t.Context(), mcp.Options{Config: h.conf.Load, Logger: slog.New(slog.DiscardHandler), Grants: h.grants}, h.conf.Load().MCPServerNamed("web"), granted)
	if err != nil {
		h.t.Fatal(err)
	}
}

// file returns the file of the grant.
func (h *locked) file() (path string, text []byte) {
	h.t.Helper()
	path = filepath.Join(h.grants, "openclawd-mcp-web.json")
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return path, text
}

// locked checks that the server is down until a login.
func (h *locked) locked() {
	h.t.Helper()
	h.offered(eden())
	h.until("it asks for a login", func() bool {
		s := h.state("web")
		return s.State == mcp.StateDown && strings.Contains(s.Error, "openclawd mcp login web")
	})
}

// needsLogin checks that a call is not made, and names the command.
func (h *locked) needsLogin(name, args string) {
	h.t.Helper()
	_, err := h.call(name, args)
	if err == nil || !strings.Contains(err.Error(), "openclawd mcp login web") {
		h.t.Errorf("%s: %v", name, err)
	}
	if outcome, _ := h.outcome.Load("web"); outcome != mcp.Unmade {
		h.t.Errorf("the outcome is %v", outcome)
	}
}

// A server that needs a login is down, and says so, until a person grants access. The grant is for its owner only, and in no log and result.
func TestLogin(t *testing.T) {
	t.Parallel()
	h := setupLocked(t)
	h.locked()
	h.login()
	h.says("web__echo", `{"text": "here"}`, "here")
	path, text := h.file()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !bytes.Contains(text, []byte("access-token-2")) {
		t.Fatalf("the token is not there: %s", text)
	}
	h.says("web__echo", `{"text": "token access-token-2, refresh-token-2, client-secret-of-test"}`, "token ***, ***, ***")
	if logged := h.logged.String(); strings.Contains(logged, "access-token") || strings.Contains(logged, "refresh-token") {
		t.Error(logged)
	}
	was, err := mcp.Logout(h.grants, "web")
	if again, _ := mcp.Logout(h.grants, "web"); !was || again || err != nil {
		t.Errorf("logout: %t, %t, %v", was, again, err)
	}
	h.needsLogin("web__echo", `{"text": "x"}`)
}

// A token that is refused is renewed once for all calls, and the new one is kept. Without a refresh token that counts a login is needed.
func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	h := setupLocked(t)
	h.login()
	h.says("web__echo", `{"text": "a"}`, "a")
	h.oauth.Revoke(false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { h.says("web__echo", `{"text": "b"}`, "b") })
	}
	all.Wait()
	if _, renewed := h.oauth.Seen(); renewed != 1 {
		t.Errorf("renewed %d times", renewed)
	}
	if _, text := h.file(); !bytes.Contains(text, []byte("access-token-3")) {
		t.Errorf("%s", text)
	}
	h.oauth.Revoke(true)
	h.needsLogin("web__append", `{"line": "x"}`)
}

// A server that asks for more rights gets them by the next login, beside those that were there.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	h := setupLocked(t)
	h.login()
	h.says("web__echo", `{"text": "a"}`, "a")
	h.oauth.Need("write")
	h.needsLogin("web__echo", `{"text": "b"}`)
	h.login()
	h.says("web__echo", `{"text": "c"}`, "c")
	if asked, _ := h.oauth.Seen(); len(asked) != 2 || len(asked[0]) != 0 || !slices.Equal(asked[1], []string{"write"}) {
		t.Errorf("%q", asked)
	}
}

// A grant is for the address that it was given for.
func TestGrantsAreForOneAddress(t *testing.T) {
	t.Parallel()
	h := setupLocked(t)
	h.login()
	other := mcptest.NewOAuth()
	t.Cleanup(other.Close)
	h.configure(fmt.Sprintf(`{agents: {entries: {eden: {}}}, mcp: {servers: {web: {url: %q, auth: 'oauth'}}}}`, other.URL+"/mcp"))
	h.locked()
}

// What is not a login says why.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	h := setupLocked(t)
	refused := func(context.Context, string, string) (*url.URL, error) {
		return url.Parse("http://127.0.0.1/?error=access_denied&state=x")
	}
	conf := h.conf.Load().MCPServerNamed("web")
	o := mcp.Options{Config: h.conf.Load, Logger: slog.New(slog.DiscardHandler), Grants: h.grants}
	if err := mcp.Login(t.Context(), o, conf, refused); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Error(err)
	}
	forged := func(ctx context.Context, address, redirect string) (*url.URL, error) {
		u, err := granted(ctx, address, redirect)
		if err == nil {
			u.RawQuery = "code=" + u.Query().Get("code") + "&state=another"
		}
		return u, err
	}
	if err := mcp.Login(t.Context(), o, conf, forged); err == nil || !strings.Contains(err.Error(), "state") {
		t.Error(err)
	}
	plain := *conf
	plain.OAuth = nil
	if err := mcp.Login(t.Context(), o, &plain, granted); err == nil || !strings.Contains(err.Error(), "has no login") {
		t.Error(err)
	}
}

// A browser comes back to this machine, or the person writes where it ended. Other requests and lines are not taken for it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	redirect := "http://" + l.Addr().String() + "/back"
	_ = l.Close()
	lines, write := io.Pipe()
	defer write.Close()
	said, tell := io.Pipe()
	defer tell.Close()
	type end struct {
		u   *url.URL
		err error
	}
	ends := make(chan end, 1)
	ask := mcp.Browser(lines, tell)
	begin := func() {
		go func() {
			u, err := ask(t.Context(), "https://grant.example/?x", redirect)
			ends <- end{u, err}
		}()
		var text strings.Builder
		for b := make([]byte, 1024); !strings.Contains(text.String(), "write that address here"); {
			n, err := said.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b[:n])
		}
		if !strings.Contains(text.String(), "https://grant.example/?x") {
			t.Error(text.String())
		}
	}
	begin()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, one := range []struct {
		path   string
		status int
	}{{"/favicon.ico", http.StatusNotFound}, {"", http.StatusNotFound}, {"?state=s&code=c", http.StatusOK}} {
		answer, err := client.Get(redirect + one.path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != one.status {
			t.Errorf("%s: %s", one.path, answer.Status)
		}
	}
	if e := <-ends; e.err != nil || e.u.Query().Get("code") != "c" {
		t.Errorf("%+v", e)
	}
	begin()
	go func() { _, _ = io.Copy(io.Discard, said) }()
	if _, err := fmt.Fprintf(write, "what?\n  %s?state=s&code=d\n", redirect); err != nil {
		t.Fatal(err)
	}
	if e := <-ends; e.err != nil || e.u.Query().Get("code") != "d" {
		t.Errorf("%+v", e)
	}
}
