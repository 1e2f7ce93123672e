// Package host reads host names of requests and URLs.
package host

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Name is a Host header without port and IPv6 brackets.
func Name(header string) string {
	if name, _, err := net.SplitHostPort(header); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}

// IsLoopback reports whether a name or address is that of the local machine, whatever DNS says.
func IsLoopback(name string) bool {
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().IsLoopback()
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// Local is the local address of the request's connection, or "".
func Local(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	return Name(addr.String())
}
