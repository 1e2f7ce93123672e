package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server/settings"
)

// The gateway serves the page of an installed package beside its own answers, with an agent's picture from its workspace.
func TestTheControlUIIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<html><head></head></html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "face.png"), []byte("png"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := `{agents: {list: [{id: 'main', workspace: ` + "'" + home + "'" + `, identity: {name: 'Ruda', avatar: 'face.png'}}]},
		gateway: {auth: {token: 'secret'}}}`
	r := startReloading(t, map[string]string{settings.FileName: config}, withGateway, func(o *Options) { o.ControlUI = dir })
	get := func(method, path string) (int, string, http.Header) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.gatewayAddress().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body), response.Header
	}
	for _, path := range []string{"/", "/chat/main", "/settings"} {
		if code, body, header := get(http.MethodGet, path); code != http.StatusOK || !strings.Contains(body, `<base href="/">`) ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %d %s %v", path, code, body, header)
		}
	}
	for path, wanted := range map[string]string{"/health": `"status":"live"`, "/avatar/main": "png", "/avatar/main?meta=1": `"/avatar/main"`,
		"/__openclaw/control-ui-config.json": `"assistantName":"Ruda"`} {
		if code, body, _ := get(http.MethodGet, path); code != http.StatusOK || !strings.Contains(body, wanted) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/openclaw.json", "/%2e%2e/openclaw.json", "/..%2fopenclaw.json", "/avatar/..%2f..%2fopenclaw.json"} {
		if code, body, _ := get(http.MethodGet, path); code != http.StatusNotFound || strings.Contains(body, "auth") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _, header := get(http.MethodPost, "/chat"); code != http.StatusMethodNotAllowed || header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", code, header)
	}
	if code, _, _ := get(http.MethodPost, "/tools/invoke"); code != http.StatusUnauthorized {
		t.Errorf("%d", code)
	}
	if at := r.PageAddress(); at != "http://"+r.gatewayAddress().String()+"/" {
		t.Error(at)
	}
	c := connect(t, gatewayURL(r.gatewayAddress()))
	if who := calls[struct{ Avatar string }](t, c, "agent.identity.get", map[string]string{"agentId": "main"}); who.Avatar != "/avatar/main" {
		t.Errorf("%+v", who)
	}
}

// A directory without a page is refused before anything is served, with what to name instead.
func TestADirectoryWithoutAPageIsRefused(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	p.opts.Gateway, p.opts.ControlUI = "127.0.0.1:0", t.TempDir()
	err := errors.Join(p.Run(t.Context()), p.Close())
	select {
	case <-ready:
		t.Error("it was announced")
	default:
	}
	if refused, is := errors.AsType[*config.SettingError](err); !is || refused.Setting != "--control-ui" || !strings.Contains(refused.HintText, "npm") {
		t.Errorf("%v", err)
	}
}
