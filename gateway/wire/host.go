package wire

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// isOurs reports whether a request's host is this machine or an allowed name. Otherwise a page could use DNS rebinding
// to reach the gateway as if it were local.
func (a *Access) isOurs(r *http.Request) bool {
	host := hostname(r.Host)
	return host == "" || host == localAddress(r) || isLoopback(host) || contains(a.Hosts, host)
}

// shares reports whether a page of an origin may connect: one served by this machine if it is addressed by a local
// name, at any port; those in the allow list; and the gateway's own page at the requested host.
func (a *Access) shares(origin, host string) bool {
	if slices.Contains(a.Origins, "*") || contains(a.Origins, strings.TrimSuffix(origin, "/")) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return isLoopback(u.Hostname()) && isLoopback(hostname(host)) || a.ownPage && host != "" && strings.EqualFold(u.Host, host)
}

func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(ours string) bool { return strings.EqualFold(strings.TrimSuffix(ours, "/"), name) })
}

// hostname is a Host header without port and IPv6 brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// localAddress is the local address of the connection, or "".
func localAddress(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	return hostname(addr.String())
}

// isPassedOn reports whether a proxy forwarded the request. The named client is ignored, since the header can be
// forged.
func isPassedOn(r *http.Request) bool {
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"} {
		if _, said := r.Header[name]; said {
			return true
		}
	}
	return false
}

// remoteAddress is the address of the request's sender. A connection without one, of a Unix socket, is local.
func remoteAddress(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Loopback()
	}
	return addr.Addr().Unmap()
}
