package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// ErrStopping is the cause of a request context ended by the gateway's shutdown instead of the connection.
var ErrStopping = errors.New("the gateway is stopping")

// post serves a path of Options.Posts. The HTTP method is checked for anyone; the rest requires authorization, before
// the body is read.
func (h *Hub) post(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	h.serve(w, r, answer)
}

// serve runs authorized requests, within a limit.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	if !h.authorize(w, r) {
		return
	}
	switch err := h.acquire(r.Context(), &h.posts, h.opts.MaxPosts); {
	case errors.Is(err, errFull):
		h.stats.refuse(RefusedFull)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "full", "the maximum number of requests is in progress")
		return
	case err != nil:
		h.stats.refuse(RefusedStopping)
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "stopping", err.Error())
		return
	}
	defer h.giveBack(&h.posts)
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	defer context.AfterFunc(h.serving, func() { end(ErrStopping) })()
	h.guard(w, r.WithContext(ctx), answer)
}

// guard answers for a handler that panics before it has sent anything, and closes the connection otherwise.
func (h *Hub) guard(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	watched := &startedWriter{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		h.opts.Logger.Error("panic in an HTTP request", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		if watched.started {
			panic(http.ErrAbortHandler)
		}
		refuse(w, http.StatusInternalServerError, "api_error", "internal error")
	}()
	answer.ServeHTTP(watched, r)
}

// startedWriter records whether the response has started.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

func (w *startedWriter) WriteHeader(code int) {
	w.started = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *startedWriter) Write(p []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(p)
}

// Unwrap supports http.ResponseController.
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// authorize authorizes a request, and answers it if it is refused. Pages of other origins are refused even without a
// secret: browsers send such requests before they check whether the page may read the answer.
func (h *Hub) authorize(w http.ResponseWriter, r *http.Request) bool {
	d := h.door.Load()
	origin := r.Header.Get("Origin")
	if _, said := r.Header["Origin"]; said && !d.shares(origin, r.Host) {
		h.reject(r, RefusedOrigin)
		refuse(w, http.StatusForbidden, "origin_not_allowed", "this page may not use the gateway: add its origin to gateway.controlUi.allowedOrigins")
		return false
	}
	if d.Mode == ModeNone {
		return true
	}
	ip := remoteAddress(r)
	isLimited := !isProgramOfThisMachine(ip, origin, isPassedOn(r))
	if isLimited {
		if wait := h.failures.Locked(ip); wait > 0 {
			h.reject(r, RefusedTooOften)
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			refuse(w, http.StatusTooManyRequests, "rate_limited", fmt.Sprintf("too many wrong secrets from here: try again in %s", wait.Round(time.Second)))
			return false
		}
	}
	secret := bearer(r)
	if !d.configured || !d.is(secret) {
		if isLimited && secret != "" {
			h.failures.Count(ip)
		}
		h.reject(r, RefusedAuth)
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "unauthorized", "Unauthorized")
		return false
	}
	if isLimited {
		h.failures.Forgive(ip)
	}
	return true
}

func (h *Hub) reject(r *http.Request, reason string) {
	h.stats.refuse(reason)
	h.opts.Logger.Info("HTTP request rejected", "reason", reason, "client", r.RemoteAddr, "path", r.URL.Path)
}

// bearer is the token or password of a request, or "".
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// isProgramOfThisMachine reports whether a request comes neither from a page nor through a proxy on this machine. Only
// such requests are exempt from the limit of wrong secrets.
func isProgramOfThisMachine(ip netip.Addr, origin string, passedOn bool) bool {
	return ip.IsLoopback() && origin == "" && !passedOn
}
