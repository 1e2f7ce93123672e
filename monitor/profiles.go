package monitor

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"slices"

	"github.com/labstack/echo/v4"
)

// profilesPath is where go tool pprof expects profiles. Importing net/http/pprof also enters them in
// http.DefaultServeMux, which nothing here serves.
const profilesPath = "/debug/pprof/"

// maxProfileSeconds limits the time that a profile covers. The defaults of pprof are shorter.
const maxProfileSeconds = 60

// profiles are the kinds of profiles by name; "" lists them.
var profiles = map[string]http.Handler{
	"":        http.HandlerFunc(pprof.Index),
	"cmdline": http.HandlerFunc(pprof.Cmdline),
	"profile": http.HandlerFunc(pprof.Profile),
	"symbol":  http.HandlerFunc(pprof.Symbol),
	"trace":   http.HandlerFunc(pprof.Trace),

	"allocs":       pprof.Handler("allocs"),
	"block":        pprof.Handler("block"),
	"goroutine":    pprof.Handler("goroutine"),
	"heap":         pprof.Handler("heap"),
	"mutex":        pprof.Handler("mutex"),
	"threadcreate": pprof.Handler("threadcreate"),
}

// lasting are the profiles that always cover a time, also if a request does not say which.
var lasting = []string{"profile", "trace"}

// asProfiler lets administrators take profiles: with their token, or, where neither they nor writers have one, from
// this machine.
func (s *Server) asProfiler(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if refused := s.checkProfiler(r); refused != nil {
			s.opts.Logger.Debug("profile refused", "method", r.Method, "peer", r.RemoteAddr, "reason", refused.Hint)
			return refused
		}
		return next(c)
	}
}

func (s *Server) checkProfiler(r *http.Request) *problem {
	settings := s.settings.Load()
	grant, granted := grantOf(r.Context())
	switch {
	case granted:
		return grant.checkAdmin(r)
	case s.opts.AdminToken != "":
		if !isBearer(r, s.opts.AdminToken.Reveal()) {
			return adminRequired()
		}
		return s.checkSite(r, "take profiles")
	case settings.Token != "" || settings.ReadToken != "" || settings.Sealed || checkNear(r) != nil:
		return &problem{Status: http.StatusNotFound, Code: "profiles_off", Message: "Profiles are off",
			Hint: "set " + AdminTokenVariable + " where the server starts, and show it as Authorization: Bearer"}
	}
	return nil
}

// showProfile answers GET /debug/pprof/ and below. Profiles that cover a time are taken one after the other: the runtime
// takes one profile of the processor at a time, and several would show each other.
func (s *Server) showProfile(c echo.Context) error {
	name, p := idOf(c), parametersOf(c)
	seconds := p.integer("seconds", 0, 1, maxProfileSeconds)
	if p.err != nil {
		return p.err
	}
	profile := profiles[name]
	if profile == nil {
		unknown := notFound("No such profile")
		unknown.Field, unknown.Hint = "name", "GET "+profilesPath+" lists profiles"
		return unknown
	}
	if seconds > 0 || slices.Contains(lasting, name) {
		if !s.profiling.TryLock() {
			return &problem{Status: http.StatusServiceUnavailable, Code: "profile_busy", Message: "Another profile is being taken",
				Hint: fmt.Sprintf("it ends after %d s at most", maxProfileSeconds), RetryAfter: 1}
		}
		defer s.profiling.Unlock()
	}
	r := c.Request()
	s.opts.Logger.Info("profile", "peer", r.RemoteAddr, "name", name, "seconds", seconds)
	c.Response().Header().Set("Cache-Control", "no-store")
	profile.ServeHTTP(c.Response(), r)
	return nil
}
