package ui

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// serveAPI passes requests of the page on to the API.
func (s *Site) serveAPI(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete) {
		return
	}
	w.Header().Add("Vary", "Cookie")
	check, role := checkWrite, Operate
	if isRead(r.Method) {
		check, role = checkSite, Read
	}
	if refused := check(r); refused != nil {
		refuse(w, refused)
		return
	}
	now := s.sessionOf(r)
	if now.role < role {
		refuse(w, needs(now, role))
		return
	}
	s.pass(w, r, now)
}

// serveHealth passes on what may be asked without a login.
func (s *Site) serveHealth(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	if refused := checkSite(r); refused != nil {
		refuse(w, refused)
		return
	}
	s.pass(w, r, session{})
}

// pass has the API answer a request.
func (s *Site) pass(w http.ResponseWriter, r *http.Request, now session) {
	answer := &answerWriter{ResponseWriter: w, request: r, all: &s.kept}
	defer answer.finish()
	s.opts.API.ServeHTTP(answer, within(r, now))
}

// serveSocket passes a WebSocket on to the live feed.
func (s *Site) serveSocket(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet) {
		return
	}
	if refused := checkSocket(r); refused != nil {
		refuse(w, refused)
		return
	}
	now := s.sessionOf(r)
	if now.role < Read {
		refuse(w, needs(now, Read))
		return
	}
	s.serveOpen(w, r, now, Read, s.opts.Live)
}

// serveOpen passes a WebSocket on that is closed when its session has a lower role than it needs.
func (s *Site) serveOpen(w http.ResponseWriter, r *http.Request, now session, role Role, to http.Handler) {
	open := &socket{ResponseWriter: w, request: r, site: s, role: role}
	defer open.forget()
	to.ServeHTTP(open, within(r, now))
}

// within is a request as the API gets it: without the page's prefix, and without the session's cookie and other credentials, which are
// checked here and may be sent on to other servers.
func within(r *http.Request, now session) *http.Request {
	inner := r.Clone(context.WithValue(r.Context(), sessionKey{}, now))
	prefix := strings.TrimSuffix(Base, "/")
	inner.URL = &url.URL{Path: strings.TrimPrefix(r.URL.Path, prefix), RawQuery: r.URL.RawQuery}
	if r.URL.RawPath != "" {
		inner.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, prefix)
	}
	inner.RequestURI = inner.URL.RequestURI()
	for _, name := range []string{"Cookie", "Authorization", "X-Task-Monitor-Token"} {
		inner.Header.Del(name)
	}
	return inner
}

// socket is an open WebSocket. It is closed when its session ends.
type socket struct {
	http.ResponseWriter
	request *http.Request // with the cookies
	site    *Site
	role    Role // that it needs
	conn    net.Conn
}

// Unwrap gives http.ResponseController access to the rest.
func (o *socket) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Hijack takes over the connection.
func (o *socket) Hijack() (conn net.Conn, buffers *bufio.ReadWriter, err error) {
	conn, buffers, err = http.NewResponseController(o.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	o.site.mu.Lock()
	defer o.site.mu.Unlock()
	o.conn = conn
	o.site.sockets[o] = struct{}{}
	return conn, buffers, nil
}

func (o *socket) forget() {
	o.site.mu.Lock()
	defer o.site.mu.Unlock()
	delete(o.site.sockets, o)
}

// recheck closes WebSockets whose sessions no longer have the role that they need.
func (s *Site) recheck() {
	s.mu.Lock()
	open := make([]*socket, 0, len(s.sockets))
	for o := range s.sockets {
		open = append(open, o)
	}
	s.mu.Unlock()
	for _, o := range open {
		if s.sessionOf(o.request).role < o.role {
			_ = o.conn.Close() // its handler notices
		}
	}
}
