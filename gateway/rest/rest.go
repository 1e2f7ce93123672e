// Package rest answers what programs ask the gateway over HTTP: to call a tool, and, in the words of OpenAI's API, to have an agent answer.
// Whoever asks was let in before; package gateway/wire sees to that.
//
// It promises:
//
//   - A message that is accepted is a run like any other: it is on disk before anything of the answer is told, and it has one end.
//   - A request with an Idempotency-Key asks once, however often it is sent; its run goes on when the client leaves. Without one, the run of a
//     client that leaves is stopped.
//   - What a stream has told stays told: where a model breaks off and another one answers in its place, what that says follows after a blank
//     line. An answer that is told whole has only what was said last.
//   - A client that reads slowly costs nobody else anything: it gets larger pieces, and is cut off when it takes nothing for too long.
//   - What is read of a request is bounded. What is wrong with it is said in the shape that clients of the endpoint know.
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

// Runs are the agents that answer. See gateway.Runs.
type Runs interface {
	Queue(ctx context.Context, ask run.Ask) (run.Accepted, error)
	Wait(ctx context.Context, runID string) (run.Result, error)
	Stop(ctx context.Context, stop run.Stop) ([]string, error)
	Follow(tell func(run.Update)) (stop func())
}

// Options of New. Zero means the default for times; Runs and Tools may be nil: then nobody answers, and there are no tools.
type Options struct {
	Runs  Runs
	Tools tool.Box

	// Offers reports whether an endpoint that may be off is on now.
	Offers func(path string) bool
	// Agent is the agent of an id as clients write it, the default agent for "". The text of its errors is for clients, as that of Session's.
	Agent func(id string) (string, error)
	// Session is what clients call a session: a key, or the name of a session of agent, which is the default agent if it is "". A key of
	// another agent's session is refused if agent is not "".
	Session func(agent, key string) (coordination.SessionKey, error)
	// Agents are the ids of those that can be asked.
	Agents func() []string
	// FailsAsHTTP reports whether a model that fails is told as an error of HTTP, and not as what the agent answers.
	FailsAsHTTP func() bool
	// AgentOf is whose session it is.
	AgentOf func(key coordination.SessionKey) string

	Now    func() time.Time
	NewID  func() string // a UUID that nobody has had
	Logger *slog.Logger

	Heartbeat time.Duration // between signs of life in a stream that says nothing
	WriteTime time.Duration // for each MiB of what is written at once, the last one whole
	StopTime  time.Duration // for a run to be stopped whose client is gone
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

// Server answers.
type Server struct {
	opts  Options
	ears  ears
	paths map[string]http.Handler
}

// New returns a server. It does nothing until it is asked.
func New(opts Options) *Server {
	opts.Heartbeat = cmp.Or(opts.Heartbeat, DefaultHeartbeat)
	opts.WriteTime = cmp.Or(opts.WriteTime, DefaultWriteTime)
	opts.StopTime = cmp.Or(opts.StopTime, DefaultStopTime)
	s := &Server{opts: opts, ears: ears{runs: opts.Runs}}
	s.paths = map[string]http.Handler{
		PathInvoke:    http.HandlerFunc(s.invoke),
		PathChat:      http.HandlerFunc(s.chat),
		PathResponses: http.HandlerFunc(s.responses),
	}
	return s
}

// Post gives what answers a POST to a path, nil where there is nothing, or what is there is off.
func (s *Server) Post(path string) http.Handler {
	handler := s.paths[path]
	if handler == nil || path != PathInvoke && !s.opts.Offers(path) {
		return nil
	}
	return handler
}

// Get gives what answers a GET to a path, as Post does for a POST. Models are listed where they can be asked.
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
