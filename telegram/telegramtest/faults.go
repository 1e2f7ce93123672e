package telegramtest

import (
	"net/http"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Match selects the requests of a fault. Empty fields match all.
type Match struct {
	Method string // e.g. sendMessage; see Request.Method
	Bot    int64  // id of the requesting bot
	Chat   int64
	Test   func(Request) bool
}

// Matches reports whether a request is selected.
func (m Match) Matches(r Request) bool {
	return (m.Method == "" || strings.EqualFold(m.Method, r.Method)) && (m.Bot == 0 || m.Bot == r.Bot) && (m.Chat == 0 || m.Chat == r.Chat) &&
		(m.Test == nil || m.Test(r))
}

// Fault affects matching requests.
type Fault = faults.Fault[Match, Effect]

// Injected is an active fault.
type Injected = faults.Injected

// Inject adds a fault. Of several that match, the oldest unused one applies.
func (s *Server) Inject(f Fault) *Injected { return faults.Inject(s.faults, f) }

// Outage cuts all connections until it is removed. Requests that wait are answered first.
func (s *Server) Outage() *Injected { return s.Inject(Fault{Times: -1, Effect: Cut()}) }

// Effect is what a fault does to a request. The functions below create them.
type Effect struct {
	name        string
	before      func(*Server, http.ResponseWriter, *http.Request) bool // false: there is no answer
	refusal     *Error
	after       func(*Server, http.ResponseWriter, *http.Request) bool
	denied      *Error // the request is done nevertheless
	unconfirmed bool
}

// Refuse answers with an error; nothing is done.
func Refuse(code int, description string) Effect {
	return Effect{name: "refused", refusal: &Error{Code: code, Description: description}}
}

// Unavailable answers with a code of 500 or above.
func Unavailable(code int) Effect { return Refuse(code, http.StatusText(code)) }

// Deny does what is requested but answers with a code of 500 or above.
func Deny(code int) Effect {
	return Effect{name: "denied", denied: &Error{Code: code, Description: http.StatusText(code)}}
}

// TooMany answers 429.
func TooMany(after time.Duration) Effect {
	return Effect{name: "too many requests", refusal: tooManyRequests(after)}
}

// Cut cuts the connection; nothing is done.
func Cut() Effect { return Effect{name: "cut", before: cutRequest} }

// LoseAnswer does what is requested, and cuts the connection instead of answering.
func LoseAnswer() Effect { return Effect{name: "answer lost", after: cutRequest} }

// Unconfirmed makes a getUpdates not confirm its offset: the updates before it are delivered again.
func Unconfirmed() Effect { return Effect{name: "not confirmed", unconfirmed: true} }

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

// Hold blocks the request until release is closed. If the client gives up before, nothing is done.
func Hold(release <-chan struct{}) Effect { return Effect{name: "held", before: hold(release)} }

// HoldAnswer does what is requested, and answers only after release is closed or the client has given up.
func HoldAnswer(release <-chan struct{}) Effect {
	return Effect{name: "answer held", after: hold(release)}
}

func hold(release <-chan struct{}) func(*Server, http.ResponseWriter, *http.Request) bool {
	return func(s *Server, w http.ResponseWriter, r *http.Request) bool {
		return faults.Hold(w, r, release, s.closed)
	}
}

func cutRequest(_ *Server, w http.ResponseWriter, _ *http.Request) bool { return faults.Cut(w) }
