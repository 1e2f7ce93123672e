package wire

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/internal/host"
)

// isOurs reports whether a request's host is this machine or an allowed name. Otherwise a page could use DNS rebinding
// to reach the gateway as if it were local.
func (a *Access) isOurs(r *http.Request) bool {
	name := host.Name(r.Host)
	return name == "" || name == host.Local(r) || host.IsLoopback(name) || contains(a.Hosts, name)
}

// shares reports whether a page of an origin may connect: one served by this machine if it is addressed by a local
// name, at any port; those in the allow list; and the gateway's own page at the requested host.
func (a *Access) shares(origin, header string) bool {
	if slices.Contains(a.Origins, "*") || contains(a.Origins, strings.TrimSuffix(origin, "/")) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return host.IsLoopback(u.Hostname()) && host.IsLoopback(host.Name(header)) || a.ownPage && header != "" && strings.EqualFold(u.Host, header)
}

func contains(list []string, name string) bool {
	return slices.ContainsFunc(list, func(ours string) bool { return strings.EqualFold(strings.TrimSuffix(ours, "/"), name) })
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
