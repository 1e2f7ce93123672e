package monitor

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/config"
)

// headerToken carries the token of a write.
const headerToken = "X-Task-Monitor-Token"

// authorise lets only those write who may: whoever shows the token or, where none is set, programs of this machine and pages that this very
// server would serve. It decides before anything of the body is read.
//
// The original compares in the time that it takes to find a difference, and without a token lets every page write that a browser on this
// machine has open.
func (s *Server) authorise(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if refused := s.settings.Load().check(r); refused != nil {
			s.opts.Logger.Debug("write refused", "method", r.Method, "path", r.URL.Path, "peer", r.RemoteAddr, "reason", refused.Hint)
			return refused
		}
		return next(c)
	}
}

// check says why a write is refused; nil: it is not.
func (s *Settings) check(r *http.Request) *problem {
	var refused *problem
	switch {
	case s.Token != "":
		refused = checkToken(r, s.Token)
	case s.Sealed:
		refused = unauthorized("", "the configuration cannot be read, and it may ask for a write token: openclawd config check says what to mend")
	default:
		refused = checkNear(r)
	}
	switch {
	case refused != nil:
		return refused
	case r.ContentLength > maxBodyBytes:
		return tooLarge()
	}
	return checkContent(r)
}

// checkToken compares digests, so that the time tells neither the token nor its length.
func checkToken(r *http.Request, token config.Secret) *problem {
	shown := strings.TrimSpace(r.Header.Get(headerToken))
	if shown == "" {
		return unauthorized(headerToken, "this server has a write token: send it in the header "+headerToken)
	}
	want, got := sha256.Sum256([]byte(token.Reveal())), sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return unauthorized(headerToken, "the token in "+headerToken+" is not the one that this server has")
	}
	return nil
}

// checkNear stands in for a token: the peer is this machine, and no page of another site makes its browser write.
func checkNear(r *http.Request) *problem {
	const setToken = "; set TASK_MONITOR_WRITE_TOKEN and send it in " + headerToken
	if !isNear(r.RemoteAddr) {
		return unauthorized("", "without a write token only this machine may write"+setToken)
	}
	if header := passedOn(r); header != "" {
		return unauthorized(header, "a proxy passed this on for another machine, and only this one may write without a token"+setToken)
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !isSame(origins[0], r) {
		return crossOrigin("Origin", fmt.Sprintf("a page of %.100q may not write here without a token", origins[0])+setToken)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return nil
	default:
		return crossOrigin("Sec-Fetch-Site", fmt.Sprintf("a page of another site (%.20q) may not write here without a token", site)+setToken)
	}
}

// passedOn names the header by which a proxy says that a request comes from another machine; "" is none. What cannot be read says so too,
// and a Forwarded always.
func passedOn(r *http.Request) string {
	for _, header := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded"} {
		for _, via := range r.Header.Values(header) {
			for peer := range strings.SplitSeq(via, ",") {
				if !isNear(strings.TrimSpace(peer)) {
					return header
				}
			}
		}
	}
	return ""
}

// isNear reports whether an address, with or without port, is this machine's own.
func isNear(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isSame reports whether an origin is the one under which this request came: same scheme, host and port.
func isSame(origin string, r *http.Request) bool {
	scheme, port := "http", "80"
	if r.TLS != nil {
		scheme, port = "https", "443"
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != scheme || u.Host == "" {
		return false
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, ":"+port), strings.TrimSuffix(r.Host, ":"+port))
}

// checkContent refuses what a page may send without asking first. A program may call its body what it likes; curl calls it a form.
func checkContent(r *http.Request) *problem {
	if r.ContentLength == 0 || !isFromPage(r) {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "application/json" {
		return nil
	}
	return &problem{Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Message: "Unsupported media type",
		Field: "Content-Type", Hint: "a page has to send its JSON as application/json"}
}

func unauthorized(field, hint string) *problem {
	return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Unauthorized", Field: field, Hint: hint}
}

func crossOrigin(field, hint string) *problem {
	return &problem{Status: http.StatusForbidden, Code: "cross_origin", Message: "Forbidden", Field: field, Hint: hint}
}
