package discord

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Redirect is a Transport that sends what is for discord.com to another server: base stands in the place of https://discord.com, with or without
// /api at its end. Nothing is sent anywhere else. The gateway is where that server says it is. Without TLS base has to be on this machine, for what
// is sent holds tokens.
func Redirect(base string) (http.RoundTripper, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		u = &url.URL{} // what cannot be read may hold a secret, and is not shown
	}
	bad := func(why, mend string) (http.RoundTripper, error) {
		return nil, fmt.Errorf("discord API %q %s: %s", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), why, mend)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return bad("is no address of a server", "write one like http://127.0.0.1:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return bad("says more than where the server is", "write scheme, host and port alone")
	case u.Scheme == "http" && !onThisMachine(u.Hostname()):
		return bad("is not encrypted and not on this machine", "write https://, for what is sent there holds the bots' tokens")
	}
	to := *u
	to.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api")
	return &redirect{to: to, transport: newTransport()}, nil
}

// onThisMachine says whether a host is this one.
func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// errElsewhere is the error of a request that is not for Discord.
var errElsewhere = errors.New("only requests for discord.com are sent on")

type redirect struct {
	to        url.URL
	transport *http.Transport
}

func (r *redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	if host := request.URL.Hostname(); host != "discord.com" {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, fmt.Errorf("%w, not for %s", errElsewhere, host)
	}
	moved := request.Clone(request.Context())
	moved.URL.Scheme, moved.URL.Host, moved.Host = r.to.Scheme, r.to.Host, r.to.Host
	moved.URL.Path, moved.URL.RawPath = r.to.Path+request.URL.Path, ""
	if request.URL.RawPath != "" {
		moved.URL.RawPath = r.to.EscapedPath() + request.URL.RawPath
	}
	return r.transport.RoundTrip(moved)
}

// CloseIdleConnections lets connections go that nobody uses.
func (r *redirect) CloseIdleConnections() { r.transport.CloseIdleConnections() }
