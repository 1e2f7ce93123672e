package discordtest

import (
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Match selects the requests of a fault. Empty fields match all.
type Match struct {
	Route   string // method and pattern, e.g. "POST /channels/{channel}/messages"; see Request.Route
	Bot     string // id of the requesting bot
	Channel string // id in the path
	Test    func(Request) bool
}

// Matches reports whether a request is selected.
func (m Match) Matches(r Request) bool {
	return (m.Route == "" || m.Route == r.Route) && (m.Bot == "" || m.Bot == r.Bot) && (m.Channel == "" || m.Channel == r.Channel) &&
		(m.Test == nil || m.Test(r))
}

// Fault affects matching requests.
type Fault = faults.Fault[Match, Effect]

// Injected is an active fault.
type Injected = faults.Injected

// Inject adds a fault. Of several that match, the oldest unused one applies.
func (s *Server) Inject(f Fault) *Injected { return faults.Inject(s.faults, f) }

// Effect is what a fault does to a request. The functions below create them.
type Effect struct {
	name    string
	before  func(*Server, http.ResponseWriter, *http.Request) bool // false: there is no answer
	instead func() (int, http.Header, []byte)
	after   func(*Server, http.ResponseWriter, *http.Request) bool
	denied  func() (int, http.Header, []byte) // of the action
}

// Refuse answers with an error; nothing is done.
func Refuse(status, code int, message string) Effect {
	return Effect{name: "refused", instead: func() (int, http.Header, []byte) {
		return status, http.Header{}, encode(&Error{Status: status, Code: code, Message: message})
	}}
}

// Forbidden answers 403 with code 50013.
func Forbidden() Effect {
	return Refuse(http.StatusForbidden, CodeMissingPermissions, "Missing Permissions")
}

// NotFound answers 404 with one of the codes for unknown objects.
func NotFound(code int) Effect { return Refuse(http.StatusNotFound, code, "Unknown") }

// Unavailable answers with a status of 500 or above, like Discord's front end: code 0.
func Unavailable(status int) Effect { return Refuse(status, 0, http.StatusText(status)) }

// Deny does what is requested but answers with a status of 500 or above.
func Deny(status int) Effect {
	return Effect{name: "denied", denied: Unavailable(status).instead}
}

// TooManyRequests answers 429, for this route or globally.
func TooManyRequests(after time.Duration, global bool) Effect {
	return tooMany(after, global, 0)
}

// ChannelWriteLimit answers 429 with code 20028: the channel's own limit, shared by all who write there.
func ChannelWriteLimit(after time.Duration) Effect {
	return tooMany(after, false, CodeChannelRateLimit)
}

func tooMany(after time.Duration, global bool, code int) Effect {
	return Effect{name: "too many requests", instead: func() (int, http.Header, []byte) {
		headers := http.Header{}
		body := refuseRate(headers, after, global, code)
		if code == CodeChannelRateLimit {
			headers.Set("X-RateLimit-Scope", "shared")
		}
		return http.StatusTooManyRequests, headers, body
	}}
}

// Cut cuts the connection; nothing is done.
func Cut() Effect { return Effect{name: "cut", before: cutRequest} }

// LoseAnswer does what is requested, and cuts the connection instead of answering.
func LoseAnswer() Effect { return Effect{name: "answer lost", after: cutRequest} }

// Beforehand calls do before the request is done. do may call the methods of the Server.
func Beforehand(do func()) Effect {
	return Effect{name: "something else before", before: func(*Server, http.ResponseWriter, *http.Request) bool {
		do()
		return true
	}}
}

// Afterwards calls do after the request is done and before it is answered. do may call the methods of the Server.
func Afterwards(do func()) Effect {
	return Effect{name: "something else after", after: func(*Server, http.ResponseWriter, *http.Request) bool {
		do()
		return true
	}}
}

// HoldAnswer does what is requested, and answers only after release is closed or the client has given up.
func HoldAnswer(release <-chan struct{}) Effect {
	return Effect{name: "answer held", after: hold(release)}
}

// Hold blocks the request until release is closed. If the client gives up before, nothing is done.
func Hold(release <-chan struct{}) Effect { return Effect{name: "held", before: hold(release)} }

// Slow delays a request, by the system's clock.
func Slow(d time.Duration) Effect {
	return Effect{name: "slow", before: func(s *Server, w http.ResponseWriter, r *http.Request) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-r.Context().Done():
		case <-s.closed:
		}
		return cutRequest(s, w, r)
	}}
}

func hold(release <-chan struct{}) func(*Server, http.ResponseWriter, *http.Request) bool {
	return func(s *Server, w http.ResponseWriter, r *http.Request) bool {
		return faults.Hold(w, r, release, s.closed)
	}
}

func cutRequest(_ *Server, w http.ResponseWriter, _ *http.Request) bool { return faults.Cut(w) }
