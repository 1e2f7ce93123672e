// Package page serves the Control UI from an installed npm package on the gateway's port: its files, its page at every
// address that the page routes itself, and the few HTTP requests it makes. It calls no gateway methods.
package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Identity is the default agent as the page shows it before authentication.
type Identity struct {
	AgentID string
	Name    string
	Avatar  string // a letter, an emoji, or an address
}

// Picture is the picture of an agent.
type Picture struct {
	Address string // a URL on another server, or data: ...; "" if Data holds it or there is none
	Type    string // of Data, such as image/png
	Data    []byte
}

// Info gives the page information about agents.
type Info interface {
	// Identity returns the default agent's.
	Identity() Identity
	// Picture returns an agent's picture, an empty one if there is none or no such agent.
	Picture(agentID string) Picture
	// Version returns the program's version.
	Version() string
}

// Site serves the files of a page. It follows no link out of their directory.
type Site struct {
	root *os.Root
	dir  string
	base string // "" or /such/as
}

const indexName = "index.html"

// Open opens the files of a page: a directory with an index.html, or the npm package with one below dist/control-ui.
// base is the path prefix on the port: "", or /such/as.
func Open(dir, base string) (*Site, error) {
	for _, below := range []string{"", filepath.Join("dist", "control-ui")} {
		at := filepath.Join(dir, below)
		info, err := os.Stat(filepath.Join(at, indexName))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			return nil, fmt.Errorf("open the page: %w", err)
		}
		return &Site{root: root, dir: at, base: base}, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	return nil, fmt.Errorf("open the page: %s has no %s, nor dist/control-ui/%s", dir, indexName, indexName)
}

// Base parses the path prefix of a page from openclaw.json.
func Base(text string) (string, error) {
	text = strings.Trim(text, "/")
	if text == "" {
		return "", nil
	}
	for _, part := range strings.Split(text, "/") {
		if !basePart.MatchString(part) || reserved("/"+text) {
			return "", errors.New("must be a path of letters, digits, - and _ that nothing else uses")
		}
	}
	return "/" + text, nil
}

var basePart = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Close closes the directory.
func (s *Site) Close() error { return s.root.Close() }

// Base returns the page's path prefix.
func (s *Site) Base() string { return s.base }

// Handler returns what answers a GET of a path, nil if the page has nothing there.
func (s *Site) Handler(at string, t Info) http.Handler {
	if at == s.base && s.base != "" {
		return http.RedirectHandler(s.base+"/", http.StatusFound)
	}
	if at == "/" && s.base != "" {
		return http.RedirectHandler(s.base+"/", http.StatusFound)
	}
	below, is := strings.CutPrefix(at, s.base)
	if !is || !strings.HasPrefix(below, "/") {
		return nil
	}
	switch below {
	case "/control-ui-config.json", "/__openclaw/control-ui-config.json", "/__openclaw__/control-ui-config.json":
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { s.serveConfig(w, t) })
	}
	if id, is := strings.CutPrefix(below, "/avatar/"); is {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveAvatar(w, r, id, t) })
	}
	name := strings.TrimPrefix(path.Clean(below), "/")
	switch {
	case name == "" || name == indexName:
		name = indexName
	case s.has(name):
	case path.Ext(name) == "" && !reserved(below):
		name = indexName // an address within the page
	default:
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveFile(w, r, name) })
}

// reserved are path prefixes for programs, where a missing resource is 404 and not the page.
func reserved(at string) bool {
	for _, first := range [...]string{"/v1/", "/api/", "/tools/", "/avatar/", "/health/", "/healthz/", "/ready/", "/readyz/", "/__openclaw"} {
		if strings.HasPrefix(at+"/", first) {
			return true
		}
	}
	return false
}

func (s *Site) has(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := s.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (s *Site) serveConfig(w http.ResponseWriter, t Info) {
	who := t.Identity()
	writeJSON(w, http.StatusOK, map[string]any{"basePath": s.base, "assistantName": who.Name, "assistantAvatar": who.Avatar, "assistantAgentId": who.AgentID,
		"serverVersion": t.Version(), "terminalEnabled": false, "automaticallyFetchFavicons": false, "communityInvite": false})
}

// serveAvatar serves an agent's picture, or its URL with meta=1.
func (s *Site) serveAvatar(w http.ResponseWriter, r *http.Request, id string, t Info) {
	p := t.Picture(id)
	if r.URL.Query().Get("meta") == "1" {
		var at *string
		switch {
		case p.Address != "":
			at = &p.Address
		case len(p.Data) > 0:
			own := s.AvatarPath(id)
			at = &own
		}
		writeJSON(w, http.StatusOK, map[string]any{"avatarUrl": at})
		return
	}
	if len(p.Data) == 0 {
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]string{"type": "not_found", "message": "this agent has no picture here"}})
		return
	}
	header := w.Header()
	header.Set("Content-Type", p.Type)
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox") // an SVG runs nothing
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.Data))
}

// AvatarPath returns the path of an agent's picture.
func (s *Site) AvatarPath(agentID string) string { return s.base + "/avatar/" + agentID }

func (s *Site) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	header := w.Header()
	header.Set("X-Frame-Options", "DENY")
	if name == indexName {
		s.serveIndex(w, r)
		return
	}
	file, err := s.root.Open(name)
	if err != nil {
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]string{"type": "not_found", "message": "there is no such file"}})
		return
	}
	defer file.Close()
	var changed time.Time
	if info, err := file.Stat(); err == nil {
		changed = info.ModTime()
	}
	header.Set("Content-Type", typeOf(name))
	header.Set("Content-Security-Policy", policy(nil))
	header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // file names contain a content hash
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", changed, file)
}

const maxIndex = 4 << 20

// serveIndex serves the page with a base element: its files have relative addresses, and the page is served at many
// paths.
func (s *Site) serveIndex(w http.ResponseWriter, r *http.Request) {
	text, err := s.index()
	if err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"error": map[string]string{"type": "page_gone", "message": "the page cannot be read: " +
			"check that the npm package is still installed where --control-ui points"}})
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy(inlineScripts(text)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (s *Site) index() ([]byte, error) {
	file, err := s.root.Open(indexName)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxIndex+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxIndex {
		return nil, errors.New("it is too large")
	}
	base, err := json.Marshal(s.base)
	if err != nil {
		return nil, err
	}
	said := fmt.Sprintf(`<base href="%s/"><script>window.__OPENCLAW_CONTROL_UI_BASE_PATH__=%s</script>`, s.base, base)
	head := headTag.FindIndex(text)
	if head == nil {
		return text, nil
	}
	return bytes.Join([][]byte{text[:head[1]], []byte(said), text[head[1]:]}, nil), nil
}

var (
	headTag = regexp.MustCompile(`(?i)<head(?:\s[^>]*)?>`)
	scripts = regexp.MustCompile(`(?is)<script([^>]*)>(.*?)</script>`)
)

// inlineScripts returns the hashes of the page's inline scripts.
func inlineScripts(text []byte) (hashes []string) {
	for _, one := range scripts.FindAllSubmatch(text, -1) {
		if bytes.Contains(one[1], []byte("src=")) {
			continue
		}
		sum := sha256.Sum256(one[2])
		hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return hashes
}

// policy is the page's Content-Security-Policy: its own files, its inline scripts, and the gateways it may connect to.
func policy(hashes []string) string {
	return strings.Join([]string{"default-src 'self'", "base-uri 'self'", "object-src 'none'", "frame-ancestors 'none'", "form-action 'self'",
		strings.Join(append([]string{"script-src 'self' 'wasm-unsafe-eval'"}, hashes...), " "),
		"style-src 'self' 'unsafe-inline' https://fonts.googleapis.com", "font-src 'self' data: https://fonts.gstatic.com",
		"img-src 'self' data: blob: https:", "media-src 'self' data: blob:", "worker-src 'self' blob:", "connect-src 'self' data: ws: wss:"}, "; ")
}

// typeOf returns a file's media type by name. System tables differ, and browsers refuse scripts of another type.
func typeOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json", ".map":
		return "application/json; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".webp":
		return "image/webp"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".wasm":
		return "application/wasm"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
