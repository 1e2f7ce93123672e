package discord

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// Redirect is a Transport that sends requests for discord.com, and for the hosts of its files, to another server: base
// replaces https://discord.com, with or without /api at its end. Nothing is sent elsewhere. The gateway's address comes from that server. Without
// TLS base has to be on this machine, because requests contain tokens.
func Redirect(base string) (http.RoundTripper, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		u = &url.URL{} // an unparsable value may contain a secret and is not shown
	}
	bad := func(why, hint string) (http.RoundTripper, error) {
		return nil, fmt.Errorf("discord API %q %s: %s", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), why, hint)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return bad("is not a server address", "write it like http://127.0.0.1:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return bad("has more than scheme, host and port", "write scheme, host and port only")
	case u.Scheme == "http" && !onThisMachine(u.Hostname()):
		return bad("uses no TLS and is not on this machine", "write https://, because the bots' tokens are sent there")
	}
	to := *u
	to.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api")
	return &redirect{to: to, transport: channel.NewTransport()}, nil
}

// onThisMachine reports whether a host is this machine.
func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// errElsewhere is the error of a request to another host.
var errElsewhere = errors.New("only requests for discord.com are redirected")

type redirect struct {
	to        url.URL
	transport *http.Transport
}

func (r *redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	host := request.URL.Hostname()
	if host != "discord.com" && !slices.Contains(fileHosts, host) {
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

// CloseIdleConnections closes unused connections.
func (r *redirect) CloseIdleConnections() { r.transport.CloseIdleConnections() }
