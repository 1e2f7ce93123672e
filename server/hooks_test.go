package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Hooks are on the gateway's port, with a token of their own: neither of the two opens what the other is for, wherever it comes
// from.
//
// Promise: access
func TestHooksHaveATokenOfTheirOwn(t *testing.T) {
	t.Parallel()
	const conf = `{gateway: {auth: {mode: 'token'}}, agents: {entries: {main: {default: true}}}, hooks: {enabled: true, token: 'HOOKS', path: '/in'}}`
	p := startReloading(t, map[string]string{settings.FileName: strings.ReplaceAll(conf, "HOOKS", "token-of-the-hooks")}, func(o *Options) {
		o.Gateway, o.DB = "127.0.0.1:0", filepath.Join(o.StateDir, database.Name)
	})
	kept, err := settings.ReadToken(settings.TokenFile(p.opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, token string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.gatewayAddress().String()+path, strings.NewReader(`{"text":"hello","tool":"agents_list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "hooks.example.com" // as a proxy may pass it on
		if path == "/tools/invoke" {
			r.Host = ""
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	shared := kept.Token.Reveal()
	for _, c := range []struct {
		path, token string
		want        int
	}{{"/in/wake", "token-of-the-hooks", 200}, {"/in/wake", shared, 401}, {"/tools/invoke", shared, 200}, {"/tools/invoke", "token-of-the-hooks", 401}} {
		if got := post(c.path, c.token); got != c.want {
			t.Errorf("%s with %.8s...: %d, want %d", c.path, c.token, got, c.want)
		}
	}
	p.restart(t, map[string]string{settings.FileName: strings.ReplaceAll(conf, "HOOKS", shared)})
	if got := post("/in/wake", shared); got != http.StatusServiceUnavailable {
		t.Errorf("with the token of the gateway: %d", got)
	}
}
