package ui

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// checkSite refuses requests that a page of another site has made the browser send. A browser says so in Sec-Fetch-Site; older ones send
// Origin at least with everything that writes. Programs send neither. The scheme is not compared: a proxy may have ended TLS.
func checkSite(r *http.Request) *problem {
	sites, origins := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	switch {
	case len(sites) > 1 || len(sites) == 1 && sites[0] != "same-origin" && !(sites[0] == "none" && isRead(r.Method)):
		return crossSite("Sec-Fetch-Site", fmt.Sprintf("a page of another site (%.20q) may not ask here", strings.Join(sites, ", ")))
	case len(sites) == 1:
		return nil
	case len(origins) > 1 || len(origins) == 1 && !isOwnOrigin(origins[0], r.Host):
		return crossSite("Origin", fmt.Sprintf("a page of %.100q may not ask here", strings.Join(origins, ", ")))
	}
	return nil
}

// checkWrite refuses writes that are not the page's: those of other sites, and those that a form could send.
func checkWrite(r *http.Request) *problem {
	if refused := checkSite(r); refused != nil {
		return refused
	}
	if r.Header.Get(HeaderUI) != "1" {
		return crossSite(HeaderUI, "send "+HeaderUI+": 1 with every write")
	}
	if r.Method == http.MethodDelete && r.ContentLength == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "Unsupported media type",
			Field: "Content-Type", Hint: "send JSON as application/json"}
	}
	return nil
}

// checkSocket refuses WebSockets of other pages. Browsers always send Origin with them, and never Sec-Fetch-Site.
func checkSocket(r *http.Request) *problem {
	if origins := r.Header.Values("Origin"); len(origins) != 1 || !isOwnOrigin(origins[0], r.Host) {
		return &problem{Status: http.StatusForbidden, Code: "origin_refused", Field: "Origin",
			Message: fmt.Sprintf("Pages of %.80q may not connect", strings.Join(origins, ", ")),
			Hint:    "connect from the page; a proxy has to pass on Host as it was asked for, with the port"}
	}
	return nil
}

func crossSite(field, hint string) *problem {
	return &problem{Status: http.StatusForbidden, Code: "cross_origin", Message: "Forbidden", Field: field, Hint: hint}
}

// isOwnOrigin compares host and port of an origin with a Host header.
func isOwnOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	port := ":80"
	if u.Scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}

// peer is the address that a request's connection comes from.
func peer(r *http.Request) (netip.Addr, bool) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap(), err == nil
}

// isNear reports whether the connection comes from this machine.
func isNear(r *http.Request) bool {
	at, known := peer(r)
	return known && at.IsLoopback()
}

// isDirect reports whether a request comes from this machine, and not through a proxy.
func isDirect(r *http.Request) bool { return isNear(r) && !isForwarded(r.Header) }

// isForwarded reports whether a header is there that proxies add, whatever it says: programs on this machine do without.
func isForwarded(h http.Header) bool {
	for name := range h {
		name = strings.ToLower(name)
		switch {
		case name == "forwarded", name == "via", name == "x-real-ip", strings.HasSuffix(name, "-client-ip"):
			return true
		}
		for _, prefix := range []string{"x-forwarded", "x-original-", "cf-", "tailscale-"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// addressOf parses an address with or without a port.
func addressOf(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	at, err := netip.ParseAddr(text)
	return at.Unmap(), err == nil
}

// clientOf is the address that asks, for the log. The last address that a proxy on this machine names is the one it saw; a program on this
// machine may have made it up.
func clientOf(r *http.Request) netip.Addr {
	at, _ := peer(r)
	if lists := r.Header.Values("X-Forwarded-For"); at.IsLoopback() && len(lists) > 0 {
		last := lists[len(lists)-1]
		if named, known := addressOf(last[strings.LastIndexByte(last, ',')+1:]); known {
			return named
		}
	}
	return at
}

// isSecure reports whether the browser asked over TLS, which a proxy on this machine may have ended.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || isNear(r) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
