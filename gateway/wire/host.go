package wire

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// isOurs reports whether a request is for a host that is this machine, or one that is allowed. A page on another site could otherwise name
// its own host, make that resolve to this machine, and talk to the gateway as if it were from here.
func (a *Access) isOurs(r *http.Request) bool {
	host := hostname(r.Host)
	return host == "" || host == localAddress(r) || isLoopback(host) || contains(a.Hosts, host)
}

// shares reports whether a page of an origin may connect: one that this machine serves if it has been asked for under a name of this
// machine, at any port, those that are listed, and the gateway's own, where it serves one, at the host that it was asked for.
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

// hostname is a Host header without port and without the brackets of an IPv6 address.
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

// localAddress is the address at which the request arrived, or "".
func localAddress(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	return hostname(addr.String())
}

// isPassedOn reports whether a proxy says that it asks for somebody else. For whom is not looked at: anybody can write that.
func isPassedOn(r *http.Request) bool {
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"} {
		if _, said := r.Header[name]; said {
			return true
		}
	}
	return false
}

// remoteAddress is whom the request is from. A connection that has no such address, of a socket in the file system, is from here.
func remoteAddress(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Loopback()
	}
	return addr.Addr().Unmap()
}
