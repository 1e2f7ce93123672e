// Package ui serves Task-Hub, the web page, and everything that the page asks, below /ui/: files, login, and the API and
// the live feed behind it. It knows neither of them: they are handlers that it is given.
//
// DESIGN.md explains the login and the defences against other sites.
package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/internal/lockout"
)

// Base is the path below which everything is.
const Base = "/ui/"

// Headers of requests and answers.
const (
	// HeaderUI is sent by the page with every write. Its answers carry the version of the page there.
	HeaderUI = "X-Openclawd-Ui"
)

// Options of New. All are required unless stated otherwise.
type Options struct {
	Files fs.FS // of the page, with index.html

	// API answers requests of the page. Their paths begin with /api or are those of health, as without /ui. SessionOf
	// tells who asks; the API decides which role a request needs beyond reading. Live likewise serves WebSockets at /ws.
	API, Live http.Handler
	// Gateway serves WebSockets of the gateway in this process, with what SessionOf permits. nil: none runs here.
	Gateway http.Handler
	// Admits reports whether the host of a request is this server: a page of another name for its address is refused.
	Admits func(*http.Request) bool
	// Access returns the access rules in force. It is called for every request.
	Access func() Access
	// EndSessions replaces Access.Key.
	EndSessions func() error
	LogID       string // 8 hex digits, unlike those of other servers on this machine
	Mode        string // produce or follow
	Version     string
	Features    func() Features
	Store       Store // nil: nothing is kept here

	Now     func() time.Time
	Logger  *slog.Logger
	Recheck time.Duration // interval at which open WebSockets are compared with Access; 0: DefaultRecheck
}

// DefaultRecheck is the longest time that a WebSocket outlives its session.
const DefaultRecheck = 5 * time.Second

// Features are the optional parts of the server.
type Features struct {
	Gateway bool `json:"gateway"`
	SQL     bool `json:"sql"`
	Discord bool `json:"discord"`
}

// Site serves the page. It is safe for concurrent use.
type Site struct {
	opts Options
	page *page
	// codes open a session each. challenges are answered by a command that knows Access.Key, to be given a code.
	codes      codes
	challenges challenges
	ended      ended
	// guesses counts by peer, relayed what comes through a proxy on this machine.
	guesses, relayed *lockout.Failures

	kept atomic.Int64 // bytes of answers, see answerWriter

	storing sync.Mutex // held while the store is changed

	mu      sync.Mutex
	sockets map[*socket]struct{}
}

// New reads the files of the page.
func New(opts Options) (*Site, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Recheck = cmp.Or(opts.Recheck, DefaultRecheck)
	p, err := readPage(opts.Files)
	if err != nil {
		return nil, err
	}
	return &Site{opts: opts, page: p, codes: codes{now: opts.Now, most: maxCodes}, sockets: map[*socket]struct{}{},
		challenges: challenges{now: opts.Now, key: rand.Text(), answered: map[string]time.Time{}}, ended: ended{nonces: map[string]map[string]time.Time{}},
		guesses: lockout.New(opts.Now, lockout.MaxFailures), relayed: lockout.New(opts.Now, maxRelayed)}, nil
}

// maxRelayed is the limit of wrong secrets in a minute through proxies on this machine, whatever clients they name.
const maxRelayed = 100

// Run ends WebSockets whose sessions have ended, until ctx ends.
func (s *Site) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.opts.Recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.recheck()
		}
	}
}

// Owns reports whether a request is for the page.
func Owns(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, Base) || r.URL.Path == strings.TrimSuffix(Base, "/")
}

// WantsPage reports whether a browser opens the server's address to show it to a person.
func WantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// Redirect leads to the page. The address is relative: the server may be below a path that it does not know.
func Redirect(w http.ResponseWriter) {
	w.Header().Set("Location", strings.TrimPrefix(Base, "/"))
	w.Header().Set("Vary", "Sec-Fetch-Dest")
	w.WriteHeader(http.StatusFound)
}

// ServeHTTP answers requests that Owns accepts.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.secure(w.Header())
	if !s.opts.Admits(r) {
		refuse(w, &problem{Status: http.StatusMisdirectedRequest, Code: "unknown_host", Message: "Unknown host", Field: "Host",
			Hint: "use 127.0.0.1 or localhost, or add the name to the allowed hosts: openclawd serve --allow-host NAME"})
		return
	}
	at, below := strings.CutPrefix(r.URL.EscapedPath(), Base)
	if !below {
		if r.URL.EscapedPath() != strings.TrimSuffix(Base, "/") { // the prefix is encoded: a relative address would lead back here
			refuse(w, &problem{Status: http.StatusNotFound, Code: "not_found", Message: "Not found", Hint: "the page is at " + Base})
			return
		}
		Redirect(w)
		return
	}
	switch first, rest, _ := strings.Cut(at, "/"); {
	case at == "session":
		s.serveSession(w, r)
	case at == "code":
		s.serveCode(w, r)
	case at == "healthz":
		s.serveHealth(w, r)
	case first == "api" || at == "readyz":
		s.serveAPI(w, r)
	case first == "store":
		s.serveStore(w, r, rest)
	case at == "ws":
		s.serveSocket(w, r)
	case at == "gateway":
		s.serveGateway(w, r)
	case first == "a":
		s.page.serveFile(w, r, rest)
	default:
		s.page.serveIndex(w, r, at)
	}
}

// policy restricts the page to its own files; inline scripts and styles are not allowed.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify"

// secure sets the headers that every answer has.
func (s *Site) secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set(HeaderUI, s.page.version)
	h.Set("Date", s.opts.Now().UTC().Format(http.TimeFormat)) // the page shows ages by it, also where the clock is frozen
}

// problem is an error answer, in the form of the API's.
type problem struct {
	Status  int      `json:"-"`
	Message string   `json:"error"`
	Code    string   `json:"code"`
	Field   string   `json:"field,omitempty"`
	Value   string   `json:"value,omitempty"` // of the field, as given
	Hint    string   `json:"hint,omitempty"`
	Allowed []string `json:"allowed,omitempty"` // allowed values of the field

	// See serveCode.
	Challenge     string `json:"challenge,omitempty"`
	LoginRequired bool   `json:"loginRequired,omitempty"`
}

func refuse(w http.ResponseWriter, p *problem) { writeJSON(w, p.Status, p) }

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // only for types that JSON cannot express
		status, text = http.StatusInternalServerError, []byte(`{"error":"Internal server error","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have left
}

// allow refuses other methods than those listed.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, method := range methods {
		if r.Method == method {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	refuse(w, &problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "Method not allowed"})
	return false
}

// maxBody is the size limit of requests that are answered here.
const maxBody = 8 << 10

// readBody decodes a JSON object, and refuses unknown members.
func readBody(w http.ResponseWriter, r *http.Request, into any) *problem {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "Request body too large", Hint: "send at most 8 KiB"}
	}
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_body", Message: "Invalid JSON body", Hint: "send one JSON object with known members"}
	}
	return nil
}
