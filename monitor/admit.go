package monitor

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// admit refuses requests for a host that is not ours. A page on another site could otherwise name its own host, make that resolve to
// this machine, and read everything.
func (s *Server) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		host := hostname(r.Host)
		if host == "" || host == localAddress(r) || s.knows(host) || isContainer(r, host) {
			return next(c)
		}
		return &problem{Status: http.StatusMisdirectedRequest, Code: "unknown_host", Message: "Unknown host", Field: "Host",
			Hint: "ask for 127.0.0.1 or localhost, or add the name to the hosts that are allowed"}
	}
}

// shares reports whether a page of an origin may read.
func (s *Server) shares(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return s.knows(hostname(u.Host)) || slices.ContainsFunc(s.settings.Load().Origins, func(ours string) bool { return strings.EqualFold(ours, origin) })
}

// knows reports whether a host is this machine, or one that is allowed.
func (s *Server) knows(host string) bool {
	return isLoopback(host) || slices.ContainsFunc(s.settings.Load().Hosts, func(ours string) bool { return strings.EqualFold(ours, host) })
}

// hostname is a Host header without port and without the brackets of an IPv6 address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// dockerHost is the name by which a container asks the machine that it runs on: Task-Hub does.
const dockerHost = "host.docker.internal"

// isContainer reports whether a program in a container asks. A page does not: where the name is not Docker's, somebody's DNS says what it
// stands for.
func isContainer(r *http.Request, host string) bool {
	return strings.EqualFold(host, dockerHost) && !isFromPage(r)
}

// isFromPage reports whether a browser says that a page has sent the request.
func isFromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

func isLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// localAddress is the address at which the request arrived, or "".
func localAddress(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	return hostname(addr.String())
}

// share lets pages read that this machine serves, or a host that is allowed; the original lets any page on the web. It answers OPTIONS.
func (s *Server) share(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
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
