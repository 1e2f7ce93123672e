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

// headerToken carries the token that authorizes writes.
const headerToken = "X-Task-Monitor-Token"

// authorise allows writes with the token or, if none is set, from programs of this machine and pages served by this
// server. It decides before the body is read.
//
// The original compares tokens in variable time, and without a token allows writes from every page open in a browser
// of this machine.
func (s *Server) authorise(path string, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		check := s.settings.Load().check
		if grant, granted := grantOf(r.Context()); granted {
			check = grant.checkWrite(path)
		}
		if refused := check(r); refused != nil {
			s.opts.Logger.Debug("write refused", "method", r.Method, "path", r.URL.Path, "peer", r.RemoteAddr, "reason", refused.Hint)
			return refused
		}
		return next(c)
	}
}

// check returns why a write is refused; nil if it is allowed.
func (s *Settings) check(r *http.Request) *problem {
	var refused *problem
	switch {
	case s.Token != "":
		refused = checkToken(r, s.Token)
	case s.Sealed:
		refused = unauthorized("", "the configuration cannot be read and may require a write token: run openclawd config check")
	default:
		refused = checkNear(r)
	}
	if refused != nil {
		return refused
	}
	return checkBody(r)
}

// checkBody refuses bodies that are too large, or that a page could send without being asked.
func checkBody(r *http.Request) *problem {
	if r.ContentLength > maxBodyBytes {
		return tooLarge()
	}
	return checkContent(r)
}

// checkToken compares digests, so that timing reveals neither the token nor its length.
func checkToken(r *http.Request, token config.Secret) *problem {
	shown := strings.TrimSpace(r.Header.Get(headerToken))
	if shown == "" {
		return unauthorized(headerToken, "this server requires a write token: send it in the header "+headerToken)
	}
	want, got := sha256.Sum256([]byte(token.Reveal())), sha256.Sum256([]byte(shown))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return unauthorized(headerToken, "the token in "+headerToken+" is wrong")
	}
	return nil
}

// checkNear replaces the token: the peer must be this machine, and the request must not come from a foreign page.
func checkNear(r *http.Request) *problem {
	const setToken = "; set TASK_MONITOR_WRITE_TOKEN and send it in " + headerToken
	if !isNear(r.RemoteAddr) {
		return unauthorized("", "without a write token, only this machine may write"+setToken)
	}
	if header := passedOn(r); header != "" {
		return unauthorized(header, "a proxy forwarded this request, and without a token only direct requests from this machine may write"+setToken)
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

// passedOn returns the header that shows a proxy's forwarding from another machine; "" if none. Unparsable values
// count, and Forwarded always does.
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

// isNear reports whether an address, with or without port, is a loopback address.
func isNear(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isSame reports whether an origin equals the request's own: same scheme, host and port.
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

// checkContent refuses content types that pages may send without a CORS preflight. Programs may use any; curl sends a
// form type by default.
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
