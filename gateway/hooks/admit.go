package hooks

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
)

// admit checks who sends a request, and how often requests come. Nothing of the body is read.
func (s *Server) admit(r *http.Request, h *config.Hooks) *failure {
	switch {
	case r.Method != http.MethodPost:
		return &failure{status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "only POST is allowed here", Field: "method", Value: r.Method, Hint: "send a POST"}
	case r.URL.Query().Has("token"):
		return &failure{status: http.StatusBadRequest, Code: "token_in_query", Message: "the token must not be in the address, which others log", Field: "token",
			Hint: "send the header Authorization: Bearer <token>, or x-openclaw-token"}
	}
	from := sender(r)
	if wait := s.failures.Locked(from); wait > 0 {
		return tooMany("rate_limited", "too many wrong tokens from this address", wait)
	}
	if !isToken(tokenOf(r), h.Token) {
		s.failures.Count(from)
		return &failure{status: http.StatusUnauthorized, Code: "unauthorized", Message: "the token is missing or wrong", Field: "token",
			Hint: "send hooks.token in the header Authorization: Bearer <token>, or x-openclaw-token"}
	}
	s.failures.Forgive(from)
	if s.o.IsOfGateway(tokenOf(r)) {
		return &failure{status: http.StatusServiceUnavailable, Code: "token_shared", Message: "hooks are off: hooks.token is also a secret of the gateway", Field: "token",
			Hint: "set hooks.token to a text of its own"}
	}
	if wait := s.rate.take(s.o.Now(), h.MaxPerMinute); wait > 0 {
		return tooMany("too_many_requests", fmt.Sprintf("more than %d requests a minute", h.MaxPerMinute), wait)
	}
	return nil
}

func tooMany(code, message string, wait time.Duration) *failure {
	wait = time.Duration(math.Ceil(wait.Seconds())) * time.Second
	return &failure{status: http.StatusTooManyRequests, again: wait, Code: code, Message: message, Hint: "try again in " + wait.String()}
}

// tokenOf is the token of a request, "" if there is none.
func tokenOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token
	}
	return strings.TrimSpace(r.Header.Get("X-Openclaw-Token"))
}

// isToken compares in constant time.
func isToken(shown string, token config.Secret) bool {
	a, b := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(strings.TrimSpace(token.Reveal())))
	return shown != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// sender is the address of a connection; one without, of a Unix socket, is this machine.
func sender(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv6Loopback()
	}
	return at.Addr().Unmap()
}

// rate limits requests: so many may come at once as in a minute, and then as many a minute.
type rate struct {
	mu   sync.Mutex
	last time.Time
	left float64
}

// take takes one request from what is left, or returns after how long there is one.
func (l *rate) take(now time.Time, perMinute int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := float64(perMinute)
	if l.last.IsZero() {
		l.left = most
	}
	if passed := now.Sub(l.last); passed > 0 || l.last.IsZero() {
		l.left += passed.Minutes() * most
		l.last = now
	}
	l.left = min(l.left, most)
	if l.left < 1 {
		return time.Duration((1 - l.left) / most * float64(time.Minute))
	}
	l.left--
	return 0
}
