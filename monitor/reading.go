package monitor

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/config"
)

// closeToOthers refuses requests without a token where reading requires one. Health checks, metrics and the list of
// routes need none. It decides before the body is read and before anything is looked up.
func (s *Server) closeToOthers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		refused := s.checkReading(r)
		if refused == nil {
			return next(c)
		}
		s.opts.Logger.Debug("read refused", "method", r.Method, "path", r.URL.Path, "peer", r.RemoteAddr, "reason", refused.Hint)
		return refused
	}
}

func (s *Server) checkReading(r *http.Request) *problem {
	settings := s.settings.Load()
	_, granted := grantOf(r.Context())
	switch {
	case settings.ReadToken == "" || granted || isOpen(r.URL.Path):
		return nil
	case s.opts.AdminToken != "" && isBearer(r, s.opts.AdminToken.Reveal()):
		return nil
	}
	shown := strings.TrimSpace(r.Header.Get(headerToken))
	reads, writes := isToken(shown, settings.ReadToken), isToken(shown, settings.Token)
	switch {
	case reads || writes:
		return nil
	case shown == "":
		return unauthorized(headerToken, "this server requires a token for reading: send taskMonitor.readToken in the header "+headerToken)
	}
	return unauthorized(headerToken, "the token in "+headerToken+" is wrong")
}

// isOpen reports whether a path needs no token for reading.
func isOpen(path string) bool {
	return path != livePath && !strings.HasPrefix(path, profilesPath) && path != "/api" && !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, livePath+"/")
}

// isToken compares digests, so that timing reveals neither the token nor its length. An unset token equals nothing.
func isToken(shown string, token config.Secret) bool {
	want, got := sha256.Sum256([]byte(token.Reveal())), sha256.Sum256([]byte(shown))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && token != ""
}
