package slacktest

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Match selects the requests of a fault. Empty fields match all.
type Match struct {
	Method  string // e.g. "chat.postMessage"; "upload" and "download" are those of files, "respond" those to a response_url
	App     string // id
	Channel string
	Test    func(Request) bool
}

func (m Match) matches(r Request) bool {
	return (m.Method == "" || m.Method == r.Method) && (m.App == "" || m.App == r.App) && (m.Channel == "" || m.Channel == r.Channel) &&
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
	name    string
	before  func(*Server, http.ResponseWriter, *http.Request) bool // false: there is no answer
	instead func() result
	after   func(*Server, http.ResponseWriter, *http.Request) bool
}

// Refuse answers with an error; nothing is done.
func Refuse(code string) Effect {
	return Effect{name: "refused", instead: func() result { return result{status: http.StatusOK, body: encode(refuse(code).body())} }}
}

// Unavailable answers with a status of 500 or above and a page, as Slack does during an outage.
func Unavailable(status int) Effect {
	return Effect{name: "unavailable", instead: func() result {
		return result{status: status, kind: "text/html", body: []byte("<html><body>" + http.StatusText(status) + "</body></html>")}
	}}
}

// TooManyRequests answers 429.
func TooManyRequests(after time.Duration) Effect {
	return Effect{name: "too many requests", instead: func() result { return tooMany(after) }}
}

func tooMany(after time.Duration) result {
	seconds := strconv.Itoa(max(1, int(math.Ceil(after.Seconds()))))
	return result{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {seconds}}, body: encode(refuse("ratelimited").body())}
}

// Cut cuts the connection; nothing is done.
func Cut() Effect { return Effect{name: "cut", before: cutRequest} }

// LoseAnswer does what is requested, and cuts the connection instead of answering.
func LoseAnswer() Effect { return Effect{name: "answer lost", after: cutRequest} }

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
