package slack

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
)

// Redirect is a Transport that sends requests for slack.com to another server: base replaces https://slack.com, with or
// without /api/ at its end. The addresses of sockets, files and interactions come from that server. Without TLS base has
// to be on this machine, because requests contain tokens.
func Redirect(base string) (http.RoundTripper, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		u = &url.URL{} // an unparsable value may contain a secret and is not shown
	}
	bad := func(why, hint string) (http.RoundTripper, error) {
		return nil, fmt.Errorf("slack API %q %s: %s", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), why, hint)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return bad("is not a server address", "write it like http://127.0.0.1:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return bad("has more than scheme, host and port", "write scheme, host and port only")
	case !safe(u):
		return bad("uses no TLS and is not on this machine", "write https://, because the apps' tokens are sent there")
	}
	return &redirect{scheme: u.Scheme, host: u.Host, transport: channel.NewTransport()}, nil
}

// errElsewhere is the error of a request to another host.
var errElsewhere = errors.New("only requests for slack.com are redirected")

type redirect struct {
	scheme, host string
	transport    *http.Transport
}

func (r *redirect) RoundTrip(request *http.Request) (*http.Response, error) {
	if host := request.URL.Hostname(); host != "slack.com" && request.URL.Host != r.host {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, fmt.Errorf("%w, not for %s", errElsewhere, host)
	}
	moved := request.Clone(request.Context())
	moved.URL.Scheme, moved.URL.Host, moved.Host = r.scheme, r.host, r.host
	return r.transport.RoundTrip(moved)
}

// CloseIdleConnections closes unused connections.
func (r *redirect) CloseIdleConnections() { r.transport.CloseIdleConnections() }
