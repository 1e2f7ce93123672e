package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const indexName = "index.html"

// packedName is the end of the names of files that the build has compressed with gzip.
const packedName = ".gz"

// page holds the files of the page. It is served at the version's address, ui/a/<version>/, so that browsers may keep
// the files for good although their names stay the same; index.html, at every other address, leads there.
type page struct {
	version       string // hash of all files
	stored        fs.FS
	files         map[string]asset // by name, without packedName
	before, after []byte           // index.html, around the address that relative addresses are resolved against
}

// asset is a file that never changes. It is read when it is asked for: browsers keep it, so nothing of it is kept here.
type asset struct {
	kind   string // media type
	name   string // among the stored files
	packed bool   // stored compressed
}

func readPage(files fs.FS) (*page, error) {
	p := &page{stored: files, files: map[string]asset{}}
	hash := sha256.New()
	if err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		shown, packed := strings.CutSuffix(name, packedName)
		p.files[shown] = asset{kind: kindOf(shown), name: name, packed: packed}
		return hashFile(hash, files, name)
	}); err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	p.version = hex.EncodeToString(hash.Sum(nil))[:16]
	index, err := fs.ReadFile(files, indexName)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	delete(p.files, indexName)
	text := baseTag.ReplaceAll(index, nil)
	text = ownAddress.ReplaceAll(text, []byte(`${1}a/`+p.version+`/`))
	head := headTag.FindIndex(text)
	if head == nil {
		return nil, errors.New("read the page: " + indexName + " has no <head>")
	}
	p.before, p.after = text[:head[1]], text[head[1]:]
	return p, nil
}

func hashFile(hash io.Writer, files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(hash, "%s\x00%d\x00", name, info.Size())
	_, err = io.Copy(hash, file)
	return err
}

var (
	headTag    = regexp.MustCompile(`(?i)<head>`)
	baseTag    = regexp.MustCompile(`(?i)<base[^>]*>\s*`)
	ownAddress = regexp.MustCompile(`\b((?:src|href)=")\./`)
)

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

func unpacked(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// serveFile serves a file of this version: rest is VERSION/NAME. Another version's are unknown: the page that asks is an old one.
func (p *page) serveFile(w http.ResponseWriter, r *http.Request, rest string) {
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	version, name, _ := strings.Cut(rest, "/")
	file, known := p.files[name]
	if version != p.version || !known {
		refuse(w, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Not found", Hint: "this server has another version of the page: reload it"})
		return
	}
	zipped := file.packed && takesGzip(r)
	content, err := fs.ReadFile(p.stored, file.name)
	if err == nil && file.packed && !zipped {
		content, err = unpacked(content)
	}
	if err != nil {
		refuse(w, &problem{Status: http.StatusInternalServerError, Code: "internal", Message: "Internal error", Hint: "the program's copy of this file is damaged: install it again"})
		return
	}
	h, tag := w.Header(), `"`+p.version+`"`
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if file.packed {
		h.Set("Vary", "Accept-Encoding")
	}
	if zipped {
		h.Set("Content-Encoding", "gzip")
		tag = `"` + p.version + `-gz"`
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
