package slacktest

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Match selects the requests of a fault. Empty fields match all.
type Match struct {
	Method  string // e.g. "chat.postMessage"; "upload" and "download" are those of files, "respond" those to a response_url
	App     string // id
	Channel string
	Test    func(Request) bool
}

// Matches reports whether a request is selected.
func (m Match) Matches(r Request) bool {
	return (m.Method == "" || m.Method == r.Method) && (m.App == "" || m.App == r.App) && (m.Channel == "" || m.Channel == r.Channel) &&
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
	instead func() result
	after   func(*Server, http.ResponseWriter, *http.Request) bool
	share   <-chan struct{} // closed when files are to be shared; nil: at once
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

// ShareLater answers files.completeUploadExternal at once, and shares the files after release is closed, as Slack does under load. A server
// that is closed before shares nothing.
func ShareLater(release <-chan struct{}) Effect { return Effect{name: "shared later", share: release} }

// Cut cuts the connection; nothing is done.
func Cut() Effect { return Effect{name: "cut", before: cutRequest} }

// LoseAnswer does what is requested, and cuts the connection instead of answering.
func LoseAnswer() Effect { return Effect{name: "answer lost", after: cutRequest} }

// Beforehand calls do before the request is done. do may call the methods of the Server.
func Beforehand(do func()) Effect {
	return Effect{name: "something else before", before: doing(do)}
}

// Afterwards calls do after the request is done and before it is answered. do may call the methods of the Server.
func Afterwards(do func()) Effect {
	return Effect{name: "something else after", after: doing(do)}
}

func doing(do func()) func(*Server, http.ResponseWriter, *http.Request) bool {
	return func(*Server, http.ResponseWriter, *http.Request) bool {
		do()
		return true
	}
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
