package monitor

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/internal/host"
)

// Admits reports whether a request is for this server by its host. Otherwise a page could use DNS rebinding to read
// everything.
func (s *Server) Admits(r *http.Request) bool {
	name := host.Name(r.Host)
	return name == "" || name == host.Local(r) || s.knows(name) || isContainer(r, name)
}

// admit refuses requests for a foreign host.
func (s *Server) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.Admits(c.Request()) {
			return next(c)
		}
		return &problem{Status: http.StatusMisdirectedRequest, Code: "unknown_host", Message: "Unknown host", Field: "Host",
			Hint: "use 127.0.0.1 or localhost, or add the name to the allowed hosts"}
	}
}

// shares reports whether a page of an origin may read.
func (s *Server) shares(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return s.knows(host.Name(u.Host)) || slices.ContainsFunc(s.settings.Load().Origins, func(ours string) bool { return strings.EqualFold(ours, origin) })
}

// knows reports whether a host is this machine or allowed.
func (s *Server) knows(name string) bool {
	return host.IsLoopback(name) || slices.ContainsFunc(s.settings.Load().Hosts, func(ours string) bool { return strings.EqualFold(ours, name) })
}

// dockerHost is a container's name for its host machine; Task-Hub uses it.
const dockerHost = "host.docker.internal"

// isContainer reports whether a program in a container asks. Pages are excluded: outside of Docker, the name resolves
// to whatever DNS says.
func isContainer(r *http.Request, host string) bool {
	return strings.EqualFold(host, dockerHost) && !isFromPage(r)
}

// isFromPage reports whether a browser says that a page has sent the request.
func isFromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// share sets CORS headers for pages of this machine and of allowed hosts; the original allows every page. It answers
// OPTIONS.
func (s *Server) share(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, granted := grantOf(c.Request().Context()); granted {
			return next(c) // no other page may read what the own one is granted
		}
		h := c.Response().Header()
		h.Set("Vary", "Origin")
		if origin := c.Request().Header.Get("Origin"); s.shares(origin) {
			h.Set("Access-Control-Allow-Origin", origin)
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Content-Type, "+headerToken+", Cookie")
		h.Set("Access-Control-Expose-Headers", headerAsOf)
		if c.Request().Method == http.MethodOptions {
			return c.NoContent(http.StatusNoContent)
		}
		return next(c)
	}
}
