package telegramtest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Match selects the requests of a fault. Empty fields match all.
type Match struct {
	Method string // e.g. sendMessage; see Request.Method
	Bot    int64  // id of the requesting bot
	Chat   int64
	Test   func(Request) bool
}

func (m Match) matches(r Request) bool {
	return (m.Method == "" || strings.EqualFold(m.Method, r.Method)) && (m.Bot == 0 || m.Bot == r.Bot) && (m.Chat == 0 || m.Chat == r.Chat) &&
		(m.Test == nil || m.Test(r))
}

// Fault affects matching requests.
type Fault struct {
	Match  Match
	After  int // matching requests to skip first
	Times  int // 0: once; negative: always
	Effect Effect
}

// Injected is an active fault.
type Injected struct {
	s     *Server
	fault Fault
	seen  int
	hits  int
}

// Inject adds a fault. Of several that match, the oldest unused one applies.
func (s *Server) Inject(f Fault) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &Injected{s: s, fault: f}
	s.faults = append(s.faults, i)
	return i
}

// Outage cuts all connections until it is removed. Requests that wait are answered first.
func (s *Server) Outage() *Injected { return s.Inject(Fault{Times: -1, Effect: Cut()}) }

// Hits is the number of requests affected.
func (i *Injected) Hits() int {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.hits
}

// Remove ends the fault.
func (i *Injected) Remove() {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.s.faults = slices.DeleteFunc(i.s.faults, func(other *Injected) bool { return other == i })
}

// faultFor returns the fault for a request. The lock is held.
func (s *Server) faultFor(r Request) Effect {
	for _, i := range s.faults {
		if !i.fault.Match.matches(r) {
			continue
		}
		i.seen++
		if i.seen <= i.fault.After || i.fault.Times >= 0 && i.hits >= max(i.fault.Times, 1) {
			continue
		}
		i.hits++
		return i.fault.Effect
	}
	return Effect{}
}

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
		select {
		case <-release:
			return true
		case <-r.Context().Done():
		case <-s.closed:
		}
		return cutRequest(s, w, r)
	}
}

func cutRequest(_ *Server, w http.ResponseWriter, _ *http.Request) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
	return false
}
