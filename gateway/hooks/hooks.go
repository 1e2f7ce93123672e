// Package hooks answers the requests of other programs that wake agents or give them work: POST /hooks/wake, /hooks/agent and, by the
// mappings of the configuration, /hooks/<name>.
//
// It guarantees:
//
//   - An accepted request is a run on disk before the answer is sent. A repeated idempotency key gets the same answer, after a restart
//     too, and does nothing.
//   - The token is one of its own, compared in constant time, and in no log and no event. Addresses that fail too often are locked out.
//   - The size of a body, the number of requests per minute and the number of waiting runs are bounded.
//   - What a request says is marked, for the agent, as text from outside.
package hooks

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/lockout"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Runs accepts runs; see runqueue.Queue.
type Runs interface {
	Queue(ctx context.Context, ask run.Ask) (run.Accepted, error)
}

// Options of New. All are required.
type Options struct {
	Runs   Runs
	Config func() *config.Config // in force
	// IsOfGateway reports whether a token also opens the gateway, wherever that has it from. Nothing is accepted with such a token.
	IsOfGateway func(token string) bool
	// LastRoute is where a session was addressed last; its Channel is "" for nowhere.
	LastRoute func(ctx context.Context, key coordination.SessionKey) (sessions.LastRoute, error)
	Now       func() time.Time
	NewID     func() string // a new UUID
	Logger    *slog.Logger
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o        Options
	failures *lockout.Failures
	rate     rate
	open     atomic.Int32 // requests whose body is read or which wait for the log
}

// maxOpen bounds Server.open, and so the memory of bodies.
const maxOpen = 64

// maxFailures is how many wrong tokens within a minute lock an address out, as in OpenClaw.
const maxFailures = 20

// New returns a server.
func New(o Options) *Server {
	return &Server{o: o, failures: lockout.New(o.Now, maxFailures)}
}

// Before serves the requests to hooks, if they are enabled, and leaves all others to next.
func (s *Server) Before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := &s.o.Config().Hooks
		rest, below := strings.CutPrefix(r.URL.Path, h.Path)
		if !h.Enabled || !below || rest != "" && rest[0] != '/' {
			next.ServeHTTP(w, r)
			return
		}
		s.serve(w, r, strings.Trim(rest, "/"))
	})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	conf := s.o.Config()
	done, bad := answer{}, s.admit(r, &conf.Hooks)
	if bad == nil {
		done, bad = s.acceptWithin(w, r, conf, path)
	}
	if bad != nil {
		s.refuse(w, r, path, bad)
		return
	}
	writeJSON(w, done.status, done)
}

// acceptWithin is accept within the limit of requests at a time.
func (s *Server) acceptWithin(w http.ResponseWriter, r *http.Request, conf *config.Config, path string) (answer, *failure) {
	defer s.open.Add(-1)
	if s.open.Add(1) > maxOpen {
		return answer{}, tooMany("too_many_requests", "too many requests at a time", time.Second)
	}
	return s.accept(w, r, conf, path)
}

// answer is the answer to an accepted request, in OpenClaw's shape.
type answer struct {
	status int

	OK    bool   `json:"ok"`
	RunID string `json:"runId"`
	Mode  string `json:"mode,omitempty"` // of a wake: always now
}
