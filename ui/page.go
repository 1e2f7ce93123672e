package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const indexName = "index.html"

// page holds the files of the page. It is served at the version's address, ui/a/<version>/, so that browsers may keep
// the files for good although their names stay the same; index.html, at every other address, leads there.
type page struct {
	version       string // hash of all files
	files         map[string]*asset
	before, after []byte // index.html, around the address that relative addresses are resolved against
}

// asset is a file that never changes.
type asset struct {
	kind    string // media type
	content []byte
	zipped  func() []byte // nil where compression gains nothing
}

func readPage(files fs.FS) (*page, error) {
	p := &page{files: map[string]*asset{}}
	hash := sha256.New()
	if err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s\x00%d\x00", name, len(content))
		hash.Write(content)
		p.files[name] = newAsset(name, content)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	p.version = hex.EncodeToString(hash.Sum(nil))[:16]
	index := p.files[indexName]
	if index == nil {
		return nil, errors.New("read the page: there is no " + indexName)
	}
	delete(p.files, indexName)
	text := baseTag.ReplaceAll(index.content, nil)
	text = ownAddress.ReplaceAll(text, []byte(`${1}a/`+p.version+`/`))
	head := headTag.FindIndex(text)
	if head == nil {
		return nil, errors.New("read the page: " + indexName + " has no <head>")
	}
	p.before, p.after = text[:head[1]], text[head[1]:]
	return p, nil
}

var (
	headTag    = regexp.MustCompile(`(?i)<head>`)
	baseTag    = regexp.MustCompile(`(?i)<base[^>]*>\s*`)
	ownAddress = regexp.MustCompile(`\b((?:src|href)=")\./`)
)

func newAsset(name string, content []byte) *asset {
	a := &asset{kind: kindOf(name), content: content}
	if isText(a.kind) && len(content) >= minZipped {
		a.zipped = sync.OnceValue(func() []byte { return zip(content) })
	}
	return a
}

// kinds are the media types by extension, the same on every machine.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml", ".png": "image/png",
	".ico": "image/x-icon", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8", ".sha256": "text/plain; charset=utf-8",
}

func kindOf(name string) string {
	if kind := kinds[path.Ext(name)]; kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// isText reports whether content of a media type shrinks by compression.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "application/manifest") ||
		strings.HasPrefix(kind, "application/yaml") || strings.HasPrefix(kind, "image/svg")
}

func zip(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil { // only for an unknown level
		return content
	}
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return b.Bytes()
}

// serveFile serves a file of this version: rest is VERSION/NAME. Another version's are unknown: the page that asks is an old one.
func (p *page) serveFile(w http.ResponseWriter, r *http.Request, rest string) {
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	version, name, _ := strings.Cut(rest, "/")
	file := p.files[name]
	if version != p.version || file == nil {
		refuse(w, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Not found", Hint: "this server has another version of the page: reload it"})
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	content, tag := file.content, `"`+p.version+`"`
	if file.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			content, tag = file.zipped(), `"`+p.version+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	send(w, r, file.kind, tag, content)
}

// serveIndex serves index.html for the address of a page: at is what follows /ui/.
func (p *page) serveIndex(w http.ResponseWriter, r *http.Request, at string) {
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	text := bytes.Join([][]byte{p.before, []byte(`<base href="` + baseOf(at) + `">`), p.after}, nil)
	send(w, r, kinds[".html"], `"`+p.version+`"`, text)
}

// baseOf is the address of /ui/ relative to that of a page. It follows from the depth of the path, so it is right below any prefix that a
// proxy takes away.
func baseOf(at string) string {
	if depth := strings.Count(at, "/"); depth > 0 {
		return strings.Repeat("../", depth)
	}
	return "./"
}

func send(w http.ResponseWriter, r *http.Request, kind, tag string, content []byte) {
	h := w.Header()
	h.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) // the client may have left
	}
}
