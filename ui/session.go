package ui

import (
	"context"
	"crypto/rand"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/internal/lockout"
)

// session is what a request may do, and for whom.
type session struct {
	role    Role
	by      string    // "" without a login
	expires time.Time // of the role; zero: never
}

// Session is what an authenticated request may do.
type Session struct {
	Role Role
	By   string // name of the one who asks; "" without a login
}

type sessionKey struct{}

// SessionOf returns the session of a request that the API or the live feed answers. Its role is None for requests that need none.
func SessionOf(ctx context.Context) Session {
	s, _ := ctx.Value(sessionKey{}).(session)
	return Session{s.role, s.by}
}

// cookieName is the name of the session's cookie, and of the one that raises it. Cookies do not tell ports apart: the log's id does.
func cookieName(logID string, raised bool) string {
	if raised {
		return "oc_ui_" + logID + "_admin"
	}
	return "oc_ui_" + logID
}

// sessionOf finds what a request may do: the most that one of its cookies, or its address, permits.
func (s *Site) sessionOf(r *http.Request) (best session) {
	access := s.opts.Access()
	if access.Open > None && isDirect(r) {
		best.role = access.Open
	}
	for _, h := range s.held(r, &access) {
		if h.role > best.role || h.role == best.role && best.by == "" {
			best = session{h.role, h.secret.Name, h.expires}
		}
	}
	return best
}

// held is a cookie that counts.
type held struct {
	claim
	secret *Secret
}

// held finds the cookies of a request that count.
func (s *Site) held(r *http.Request, access *Access) (all []held) {
	for _, raised := range []bool{false, true} {
		for _, cookie := range r.CookiesNamed(cookieName(s.opts.LogID, raised)) {
			c, secret, ok := access.verify(cookie.Value, s.opts.LogID, s.opts.Now())
			if ok && raised == (c.role == Admin) && !s.ended.has(c) {
				all = append(all, held{c, secret})
			}
		}
	}
	return all
}

// strangerAnswer answers GET /ui/session for those who may do nothing: they are told no more than the login needs.
type strangerAnswer struct {
	Role          Role `json:"role"`
	LoginRequired bool `json:"loginRequired"`
}

// sessionAnswer answers GET and POST /ui/session.
type sessionAnswer struct {
	Role          Role   `json:"role"`
	By            string `json:"by"`
	LoginRequired bool   `json:"loginRequired"` // nothing may be read without a login

	Mode     string   `json:"mode"`
	Version  string   `json:"version"`
	LogID    string   `json:"logId"`
	Features Features `json:"features"`

	ExpiresAtMS *int64 `json:"expiresAtMs"` // when the role ends; null: never
}

// describe is the answer about a session.
func (s *Site) describe(r *http.Request, now session) any {
	loginRequired := s.opts.Access().Open == None || !isDirect(r)
	if now.role == None {
		return strangerAnswer{now.role, loginRequired}
	}
	answer := sessionAnswer{Role: now.role, By: now.by, LoginRequired: loginRequired,
		Mode: s.opts.Mode, Version: s.opts.Version, LogID: s.opts.LogID, Features: s.opts.Features()}
	if !now.expires.IsZero() {
		ms := now.expires.UnixMilli()
		answer.ExpiresAtMS = &ms
	}
	return answer
}

// login is the body of POST /ui/session: a one-time code, or a secret.
type login struct {
	Code     string `json:"code"`
	Token    string `json:"token"`
	Remember bool   `json:"remember"` // of a token; sessions opened by a code are always remembered
}

func (s *Site) serveSession(w http.ResponseWriter, r *http.Request) {
	if !allow(w, r, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete) {
		return
	}
	check := checkWrite
	if isRead(r.Method) {
		check = checkSite
	}
	if refused := check(r); refused != nil {
		refuse(w, refused)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.login(w, r)
	case http.MethodDelete:
		s.logout(w, r)
	default:
		writeJSON(w, http.StatusOK, s.describe(r, s.sessionOf(r)))
	}
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	var said login
	if refused := readBody(w, r, &said); refused != nil {
		refuse(w, refused)
		return
	}
	if (said.Code == "") == (said.Token == "") {
		refuse(w, &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: "Missing code or token", Field: "token",
			Hint: "send either the code of a link that openclawd open prints, or a token"})
		return
	}
	access := s.opts.Access()
	var secret *Secret
	if said.Code != "" && s.codes.use(said.Code) { // also during a lockout, which anyone on this machine can cause
		secret, said.Remember = access.secretFrom(byCode), true
	} else if refused := s.locked(w, r); refused != nil {
		refuse(w, refused)
		return
	} else if said.Code == "" {
		secret = access.secretOf(said.Token)
	}
	if secret == nil || len(access.Key) == 0 {
		s.count(r)
		if said.Code != "" {
			refuse(w, &problem{Status: http.StatusUnauthorized, Code: "code_used", Message: "The link no longer works", Field: "code",
				Hint: "a link works once and for a minute: get another one with openclawd open"})
			return
		}
		refuse(w, &problem{Status: http.StatusUnauthorized, Code: "wrong_token", Message: "Unauthorized", Field: "token",
			Hint: "openclawd token prints the gateway's token; openclawd open opens a link that needs none"})
		return
	}
	now := s.open(w, r, &access, secret, said.Remember)
	s.opts.Logger.Info("session opened", "by", secret.Name, "role", now.role, "with", secret.Source, "client", clientOf(r))
	writeJSON(w, http.StatusOK, s.describe(r, now))
}

// open sets the cookies of a session, and returns what it may do. A secret that raises to Admin leaves the session that is there as it is,
// whatever its role, and is never remembered: it may have been shown in another one's browser.
func (s *Site) open(w http.ResponseWriter, r *http.Request, access *Access, secret *Secret, remember bool) session {
	now, before := s.opts.Now(), s.sessionOf(r)
	if !secret.Admin || before.role == None {
		c := claim{secret.Role, secret.Source, now.Add(SessionTime), rand.Text()}
		age := 0
		if remember && !secret.Admin {
			c.expires, age = now.Add(RememberedTime), int(RememberedTime.Seconds())
		}
		s.setCookie(w, r, false, age, access.sign(c, secret, s.opts.LogID))
		before = session{c.role, secret.Name, c.expires}
	}
	if secret.Admin {
		c := claim{Admin, secret.Source, now.Add(RaisedTime), rand.Text()}
		s.setCookie(w, r, true, int(RaisedTime.Seconds()), access.sign(c, secret, s.opts.LogID))
		return session{Admin, secret.Name, c.expires}
	}
	return before
}

// setCookie sets a cookie without a path: browsers take the directory of the address that they asked for, and so the right one below any
// prefix that a proxy takes away. age 0 lasts until the browser is closed, a negative one removes the cookie.
func (s *Site) setCookie(w http.ResponseWriter, r *http.Request, raised bool, age int, value string) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(s.opts.LogID, raised), Value: value, MaxAge: age, HttpOnly: true,
		Secure: isSecure(r), SameSite: http.SameSiteStrictMode})
}

// logout ends the session in this browser; with ?everywhere=true all sessions, which takes the role Operate.
func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	switch everywhere := r.URL.Query().Get("everywhere"); everywhere {
	case "", "false":
	case "true":
		if now := s.sessionOf(r); now.role < Operate {
			refuse(w, needs(now, Operate))
			return
		}
		if err := s.opts.EndSessions(); err != nil {
			s.opts.Logger.Error("cannot end all sessions", "err", err)
			refuse(w, &problem{Status: http.StatusInternalServerError, Code: "internal", Message: "Internal server error"})
			return
		}
		s.opts.Logger.Info("all sessions ended", "client", clientOf(r))
	default:
		refuse(w, &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: "Bad parameter", Field: "everywhere", Hint: "true or false",
			Allowed: []string{"true", "false"}})
		return
	}
	access := s.opts.Access()
	for _, h := range s.held(r, &access) {
		s.ended.add(h.claim, s.opts.Now())
	}
	s.setCookie(w, r, false, -1, "")
	s.setCookie(w, r, true, -1, "")
	s.recheck()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Clear-Site-Data", `"cache"`)
	w.WriteHeader(http.StatusNoContent)
}

// needs refuses a request for a role that it lacks.
func needs(now session, role Role) *problem {
	if now.role == None {
		return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Unauthorized",
			Hint: "log in: openclawd open on the server's machine opens a link, and a token does it everywhere"}
	}
	p := &problem{Status: http.StatusForbidden, Code: "forbidden", Message: "Forbidden", Field: "role",
		Hint: "this session may " + now.role.String() + " only: log in with the token of a higher role"}
	for ; role <= Admin; role++ {
		p.Allowed = append(p.Allowed, role.String())
	}
	return p
}

// guesser is where the wrong secrets of a request are counted. The addresses that a proxy on this machine names count for nothing: any
// program here could make them up, and shut out the clients that have them.
func (s *Site) guesser(r *http.Request) (*lockout.Failures, netip.Addr) {
	at, _ := peer(r)
	if at.IsLoopback() && isForwarded(r.Header) {
		return s.relayed, at
	}
	return s.guesses, at
}

// locked refuses those who have shown too many wrong secrets.
func (s *Site) locked(w http.ResponseWriter, r *http.Request) *problem {
	failures, at := s.guesser(r)
	wait := failures.Locked(at)
	if wait <= 0 {
		return nil
	}
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return &problem{Status: http.StatusTooManyRequests, Code: "locked_out", Message: "Too many wrong secrets",
		Hint: "try again in " + (time.Duration(seconds) * time.Second).String() + ", or use a link of openclawd open"}
}

// count counts a wrong secret. A right one does not clear the count: who has one secret may be guessing another.
func (s *Site) count(r *http.Request) {
	failures, at := s.guesser(r)
	failures.Count(at)
	s.opts.Logger.Warn("wrong secret", "client", clientOf(r), "peer", r.RemoteAddr)
}
