package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Handler serves the port: WebSocket at any path, Options.Posts and Options.Page, and the built-in HTTP endpoints.
func (h *Hub) Handler() http.Handler { return http.HandlerFunc(h.serveHTTP) }

func (h *Hub) serveHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	switch {
	case !h.door.Load().isOurs(r):
		h.stats.refuse(RefusedHost)
		refuse(w, http.StatusMisdirectedRequest, "unknown_host",
			"unknown host: use 127.0.0.1 or localhost, or add the name to the allowed hosts")
	case isUpgrade(r):
		h.accept(w, r)
	case r.URL.Path == "/health", r.URL.Path == "/healthz":
		if isRead(w, r) {
			h.serveHealth(w)
		}
	case r.URL.Path == "/ready", r.URL.Path == "/readyz":
		if isRead(w, r) {
			h.serveReady(w)
		}
	case r.URL.Path == "/" && h.opts.Page("/") == nil:
		if isRead(w, r) {
			header.Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(strings.ReplaceAll(frontPage, "HOST", r.Host)))
		}
	default:
		if post := h.opts.Posts(r.URL.Path); post != nil {
			h.post(w, r, post)
			return
		}
		if get := h.opts.Gets(r.URL.Path); get != nil {
			if isRead(w, r) {
				h.serve(w, r, get)
			}
			return
		}
		if page := h.opts.Page(r.URL.Path); page != nil {
			if isRead(w, r) {
				page.ServeHTTP(w, r)
			}
			return
		}
		refuse(w, http.StatusNotFound, "not_found", "there is nothing at this path; this is a WebSocket gateway")
	}
}

const frontPage = `This is the openclawd gateway. It speaks the OpenClaw gateway protocol, versions 3 and 4, over
WebSocket at any path of this port.

From a shell, with the npm package openclaw:

  openclaw gateway call health --url ws://HOST --token TOKEN
  openclaw tui --url ws://HOST --token TOKEN

openclawd token shows the token. GET /health reports whether the gateway is up.
`

// isRead reports whether the method is GET or HEAD, and refuses the request otherwise.
func isRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "only GET and HEAD are allowed here")
	return false
}

type healthAnswer struct {
	OK     bool   `json:"ok"`
	Status string `json:"status"`
}

func (h *Hub) serveHealth(w http.ResponseWriter) {
	if h.isClosed() {
		writeJSON(w, http.StatusServiceUnavailable, healthAnswer{false, "stopping"})
		return
	}
	writeJSON(w, http.StatusOK, healthAnswer{true, "live"})
}

// serveReady answers the readiness check: whether clients are accepted now.
func (h *Hub) serveReady(w http.ResponseWriter) {
	select {
	case <-h.ready:
	default:
		writeJSON(w, http.StatusServiceUnavailable, healthAnswer{false, "starting"})
		return
	}
	if h.isClosed() {
		writeJSON(w, http.StatusServiceUnavailable, healthAnswer{false, "stopping"})
		return
	}
	writeJSON(w, http.StatusOK, healthAnswer{true, "ready"})
}

func refuse(w http.ResponseWriter, code int, kind, message string) {
	var body struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	body.Error.Message, body.Error.Type = message, kind
	writeJSON(w, code, body)
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
