// Package rest is the gateway's HTTP API for programs: calling a tool, and asking an agent through OpenAI's API.
// Package gateway/wire authorizes the requests first.
//
// It guarantees:
//
//   - An accepted message is a run like any other: on disk before anything of its answer is sent, and with exactly one end.
//   - A request with an Idempotency-Key runs once, however often it is sent; its run continues if the client leaves. Without a key, the
//     run of a client that leaves is stopped.
//   - Streamed text is not retracted: if a model breaks off and a fallback answers, its text follows after a blank line. A complete
//     answer holds only the last text.
//   - A slow reader does not slow down others: it gets larger chunks, and is disconnected if it reads nothing for too long.
//   - Request sizes are bounded. Errors have the shape that the endpoint's clients expect.
package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Runs starts and follows runs. See gateway.Runs.
type Runs interface {
	Queue(ctx context.Context, ask run.Ask) (run.Accepted, error)
	Wait(ctx context.Context, runID string) (run.Result, error)
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
	Follow(tell func(run.Update)) (stop func())
}

// Options of New. Zero means the default for durations; without Runs and Tools there are no answers and no tools.
type Options struct {
	Runs  Runs
	Tools tool.Box

	// Offers reports whether an optional endpoint is enabled now.
	Offers func(path string) bool
	// Agent resolves an agent id as clients write it, "" to the default agent. Its errors are worded for clients, like
	// Session's.
	Agent func(id string) (string, error)
	// Session resolves a session: a key, or the name of a session of agent, "" being the default agent. A key of
	// another agent's session is refused unless agent is "".
	Session func(agent, key string) (coordination.SessionKey, error)
	// Agents returns the ids of the available agents.
	Agents func() []string
	// FailsAsHTTP reports whether a model failure is an HTTP error instead of the agent's answer.
	FailsAsHTTP func() bool
	// AgentOf returns the agent that owns a session.
	AgentOf func(key coordination.SessionKey) string

	Now    func() time.Time
	NewID  func() string // a new UUID
	Logger *slog.Logger

	Heartbeat time.Duration // between keep-alives in a silent stream
	WriteTime time.Duration // per started MiB of one write
	StopTime  time.Duration // to stop the run of a client that has left
}

// Defaults of Options.
const (
	DefaultHeartbeat = 15 * time.Second
	DefaultWriteTime = 10 * time.Second
	DefaultStopTime  = 10 * time.Second
)

// Paths of the endpoints.
const (
	PathInvoke    = "/tools/invoke"
	PathChat      = "/v1/chat/completions"
	PathResponses = "/v1/responses"
	PathModels    = "/v1/models"
)

// Server handles the requests.
type Server struct {
	opts  Options
	ears  updateFanout
	paths map[string]http.Handler
}

// New returns a server. It does nothing on its own.
func New(opts Options) *Server {
	opts.Heartbeat = cmp.Or(opts.Heartbeat, DefaultHeartbeat)
	opts.WriteTime = cmp.Or(opts.WriteTime, DefaultWriteTime)
	opts.StopTime = cmp.Or(opts.StopTime, DefaultStopTime)
	s := &Server{opts: opts, ears: updateFanout{runs: opts.Runs}}
	s.paths = map[string]http.Handler{
		PathInvoke:    http.HandlerFunc(s.invoke),
		PathChat:      http.HandlerFunc(s.chat),
		PathResponses: http.HandlerFunc(s.responses),
	}
	return s
}

// Post returns the handler of a POST to a path, nil if there is none or it is disabled.
func (s *Server) Post(path string) http.Handler {
	handler := s.paths[path]
	if handler == nil || path != PathInvoke && !s.opts.Offers(path) {
		return nil
	}
	return handler
}

// Get returns the handler of a GET of a path, like Post. Models are listed where they can be used.
func (s *Server) Get(path string) http.Handler {
	id, one := strings.CutPrefix(path, PathModels+"/")
	if path != PathModels && !one || !s.opts.Offers(PathChat) && !s.opts.Offers(PathResponses) {
		return nil
	}
	if one {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { s.showModel(w, id) })
	}
	return http.HandlerFunc(s.listModels)
}
