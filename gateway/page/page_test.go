package page_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/page"
)

// about is what a gateway tells a page.
type about struct{}

func (about) Identity() page.Identity {
	return page.Identity{AgentID: "eden", Name: "Eden", Avatar: "🌿"}
}
func (about) Version() string { return "test" }
func (about) Picture(id string) page.Picture {
	switch id {
	case "eden":
		return page.Picture{Type: "image/png", Data: []byte("png")}
	case "seum":
		return page.Picture{Address: "https://x/y.png"}
	}
	return page.Picture{}
}

const index = `<!doctype html><html><head lang="en"><script>boot()</script><script type="module" src="./assets/a-1.js"></script></head><body></body></html>`

// files lays out a page, with a link that leads out of it and a secret beside it.
func files(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "openclaw", "dist", "control-ui")
	for name, text := range map[string]string{"index.html": index, "assets/a-1.js": "a()", "favicon.svg": "<svg/>", "../secret.txt": "secret",
		"sub/note": "text"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "..", "secret.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// get asks for a path as it stands there.
func get(t *testing.T, s *page.Site, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:18789/", nil)
	at, query, _ := strings.Cut(path, "?")
	r.URL.Path, r.URL.RawQuery = at, query
	w := httptest.NewRecorder()
	h := s.Handler(at, about{})
	if h == nil {
		w.WriteHeader(http.StatusNotFound)
		return w
	}
	h.ServeHTTP(w, r)
	return w
}

// The page is served at each of its own addresses, and knows its base path; its files have their content types.
func TestThePageIsServed(t *testing.T) {
	t.Parallel()
	dir := files(t)
	for base, at := range map[string]string{"": dir, "/oc/ui": filepath.Dir(filepath.Dir(dir))} { // the package will do
		s, err := page.Open(at, base)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/index.html", "/chat", "/chat/main", "/settings/agents"} {
			w := get(t, s, base+path)
			policy := w.Header().Get("Content-Security-Policy")
			if body := w.Body.String(); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
				!strings.Contains(body, `<head lang="en"><base href="`+base+`/"><script>window.__OPENCLAW_CONTROL_UI_BASE_PATH__="`+base+`"</script>`) {
				t.Errorf("%s%s: %d %s", base, path, w.Code, body)
			}
			if strings.Count(policy, "'sha256-") != 2 || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "'unsafe-eval'") ||
				w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("Cache-Control") != "no-cache" {
				t.Errorf("%s%s: %v", base, path, w.Header())
			}
		}
		script := get(t, s, base+"/assets/a-1.js")
		if script.Body.String() != "a()" || !strings.HasPrefix(script.Header().Get("Content-Type"), "text/javascript") ||
			!strings.Contains(script.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%d %v", script.Code, script.Header())
		}
		for path, wanted := range map[string]string{
			"/__openclaw/control-ui-config.json": `"assistantName":"Eden"`, "/control-ui-config.json": `"basePath":"` + base + `"`,
			"/avatar/eden?meta=1": `{"avatarUrl":"` + base + `/avatar/eden"}`, "/avatar/seum?meta=1": `{"avatarUrl":"https://x/y.png"}`,
			"/avatar/ghost?meta=1": `{"avatarUrl":null}`, "/avatar/eden": "png",
		} {
			if w := get(t, s, base+path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), wanted) {
				t.Errorf("%s%s: %d %s", base, path, w.Code, w.Body)
			}
		}
		if w := get(t, s, base+"/avatar/ghost"); w.Code != http.StatusNotFound {
			t.Errorf("%d", w.Code)
		}
		if base != "" {
			if w := get(t, s, "/"); w.Code != http.StatusFound || w.Header().Get("Location") != base+"/" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			if w := get(t, s, "/chat"); w.Code != http.StatusNotFound {
				t.Errorf("%d", w.Code)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing outside the page's directory is served, by any path or link; API paths are not the page's.
func TestThePageServesNothingElse(t *testing.T) {
	t.Parallel()
	s, err := page.Open(files(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, path := range []string{"/../secret.txt", "/assets/../../secret.txt", "//../secret.txt", "/./../secret.txt", "/link.txt", `/..\secret.txt`,
		"/assets/\x00.js", "/secret.txt", "/missing.js", "/assets/", "/v1/models", "/v1/chat/completions", "/api/x", "/tools/invoke", "/__openclaw/x"} {
		if w := get(t, s, path); strings.Contains(w.Body.String(), "secret") || w.Code == http.StatusOK && !strings.Contains(w.Body.String(), "<base") {
			t.Errorf("%q: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/link.txt", "/missing.js", "/v1/models", "/api/x", "/tools/invoke", "/../secret.txt"} {
		if w := get(t, s, path); w.Code != http.StatusNotFound {
			t.Errorf("%q: %d", path, w.Code)
		}
	}
}

func TestWhatIsNoPageIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, at := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := page.Open(at, ""); err == nil || !strings.HasPrefix(err.Error(), "open the page: ") {
			t.Errorf("%s: %v", at, err)
		}
	}
	for text, wanted := range map[string]string{"": "", "/": "", "oc": "/oc", "/oc/ui/": "/oc/ui"} {
		if got, err := page.Base(text); got != wanted || err != nil {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for _, text := range []string{"a b", "/a//b", "/../a", `/"><script>`, "/v1", "/health"} {
		if got, err := page.Base(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}
