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

// ErrStopping is the cause of the end of a request's context where it is the gateway that ends, not the connection.
var ErrStopping = errors.New("the gateway is stopping")

// post answers a request with what Options.Posts has for its path. Whether the verb is right is said to anybody; the rest only to those who
// are let in, before anything of the body is read.
func (h *Hub) post(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	h.serve(w, r, answer)
}

// serve answers those who are let in, as many at a time as may be.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	if !h.letsIn(w, r) {
		return
	}
	switch err := h.take(r.Context(), &h.posts, h.opts.MaxPosts); {
	case errors.Is(err, errFull):
		h.stats.refuse(RefusedFull)
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "full", "as many requests are being answered as may be")
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

// guard answers for a handler that panics before it has said anything, and ends the connection of one that has.
func (h *Hub) guard(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	watched := &begunWriter{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		h.opts.Logger.Error("a request has panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		if watched.begun {
			panic(http.ErrAbortHandler)
		}
		refuse(w, http.StatusInternalServerError, "api_error", "internal error")
	}()
	answer.ServeHTTP(watched, r)
}

// begunWriter notes whether an answer has begun.
type begunWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *begunWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *begunWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *begunWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// letsIn reports whether whoever sends a request shows what Access asks for, and answers it otherwise. A page of elsewhere gets no answer
// even where nothing is asked for: a browser sends such a request before it asks whether the page may read what comes back.
func (h *Hub) letsIn(w http.ResponseWriter, r *http.Request) bool {
	d := h.door.Load()
	origin := r.Header.Get("Origin")
	if _, said := r.Header["Origin"]; said && !d.shares(origin, r.Host) {
		h.turnAway(r, RefusedOrigin)
		refuse(w, http.StatusForbidden, "origin_not_allowed", "this page may not use the gateway: add its origin to gateway.controlUi.allowedOrigins")
		return false
	}
	if d.Mode == ModeNone {
		return true
	}
	ip := remoteAddress(r)
	isLimited := !isProgramOfThisMachine(ip, origin, isPassedOn(r))
	if isLimited {
		if wait := h.failures.locked(ip); wait > 0 {
			h.turnAway(r, RefusedTooOften)
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			refuse(w, http.StatusTooManyRequests, "rate_limited", fmt.Sprintf("too many wrong secrets from here: try again in %s", wait.Round(time.Second)))
			return false
		}
	}
	secret := bearer(r)
	if !d.configured || !d.is(secret) {
		if isLimited && secret != "" {
			h.failures.note(ip)
		}
		h.turnAway(r, RefusedAuth)
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "unauthorized", "Unauthorized")
		return false
	}
	if isLimited {
		h.failures.forgive(ip)
	}
	return true
}

func (h *Hub) turnAway(r *http.Request, reason string) {
	h.stats.refuse(reason)
	h.opts.Logger.Info("a request is not let in", "reason", reason, "client", r.RemoteAddr, "path", r.URL.Path)
}

// bearer is the token or password that a request shows, or "".
func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// isProgramOfThisMachine reports whether it is neither a page nor anybody whom a proxy of this machine says that it has passed on. Only those
// may show as many wrong secrets as they like.
func isProgramOfThisMachine(ip netip.Addr, origin string, passedOn bool) bool {
	return ip.IsLoopback() && origin == "" && !passedOn
}
