// Package gateway serves the OpenClaw gateway protocol: sessions, their transcripts and the configuration, to the clients that others have
// made for it. gateway/wire carries frames, gateway/protocol says what they may be; here is what the methods do.
package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/page"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/budget"
)

// Log is what the gateway needs of the store.
type Log interface {
	eventstore.Reader
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Configuration is openclaw.json and what is in force of it.
type Configuration interface {
	// InForce is never nil and never changes; another one may be in force at the next call.
	InForce() *config.Config
	// Document reads the file as it lies there, broken or not.
	Document() (*config.Document, error)
	// Write puts next in the file's place, unless that has changed since it was read, appends what happened and brings it into force.
	// waiting lists the settings that take a restart.
	Write(ctx context.Context, next *config.Document, what coordination.ConfigPatched) (waiting []string, err error)
}

// Logs are the newest lines of the program's own log.
type Logs interface {
	// Tail gives the lines after cursor, the newest ones only if limit or maxBytes ask for that; a negative cursor is the beginning.
	Tail(cursor int64, limit, maxBytes int) LogTail
}

// LogTail is a part of the log. Lines are JSON objects.
type LogTail struct {
	Source    string   // where the lines come from, for people
	Cursor    int64    // go on here
	Size      int64    // bytes of the whole log so far
	Lines     []string // without line ends
	Truncated bool     // older lines were left out
	Reset     bool     // the cursor was of another life of the program
}

// Options of New. All are required but those that may be nil.
type Options struct {
	Log           Log
	Configuration Configuration
	Logs          Logs
	Access        wire.Access
	Now           func() time.Time
	NewID         func() string // a UUID that nobody has had
	Logger        *slog.Logger
	Version       string
	StateDir      string
	Database      string // the log's file, for people
	StartedAt     time.Time
	Runs          Runs      // nil: nobody answers in sessions
	Tools         tool.Box  // nil: there are none
	Posts         Posts     // nil: nothing goes out
	Approvals     Approvals // nil: nothing is decided here
	Files         Files     // nil: agents have no files here
	// Page is the Control UI that is served on the gateway's port; nil: none is.
	Page *page.Site
	// Reads is what all answers with transcripts may hold together, with others that share it; nil: there is no bound.
	Reads    *budget.Budget
	ReadWait time.Duration // how long an answer waits for others that hold it all; default budget.Patience
	// Workspace is the directory of an agent's files, "" for none. nil: there are none.
	Workspace func(agentID string) string
}

// Server is a gateway.
type Server struct {
	opts    Options
	hub     *wire.Hub
	methods map[string]answer
	health  health // the newest answer

	watchers *watchers // of sessions
	feed     *feed
	teller   *teller    // of runs
	tools    tool.Box   // as clients call them; nil: there are none
	writing  sync.Mutex // held while a file of an agent is compared and written
	commands sync.Map   // that people have typed and that are being done, by the keys of their requests
}

// answer is what a method does. See wire.Methods.
type answer func(ctx context.Context, call *wire.Call) (payload any, err error)

// New returns a gateway that serves nobody until Run runs.
func New(opts Options) *Server {
	s := &Server{opts: opts, methods: map[string]answer{}, watchers: newWatchers(), teller: newTeller(),
		tools: newOnceBox(opts.Tools, opts.Now)}
	s.feed = &feed{server: s}
	for _, some := range []map[string]answer{s.stateMethods(), s.sessionMethods(), s.chatMethods(), s.agentMethods(), s.configMethods(),
		s.toolMethods(), s.usageMethods(), s.taskMethods(), s.approvalMethods(), s.systemMethods(), s.absentMethods(), s.absentPages()} {
		maps.Copy(s.methods, some)
	}
	programs := s.newHTTP()
	s.hub = wire.New(s, wire.Options{Access: opts.Access, Now: opts.Now, NewID: opts.NewID, Logger: opts.Logger, Version: opts.Version,
		Posts: programs.Post, Gets: programs.Get, Page: s.newPage()})
	return s
}

// Run keeps the clients company until ctx ends, then says goodbye to them. What happens in runs and sessions is told while it runs.
func (s *Server) Run(ctx context.Context) error {
	if s.opts.Runs != nil {
		defer s.teller.follow(s.opts.Runs, s.hub)()
	}
	after := int64(-1)
	if head, err := s.opts.Log.Head(ctx); err == nil { // before anybody is let in
		after = head.Seq
	}
	telling, stop := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { s.feed.run(telling, after) })
	defer told.Wait()
	defer stop()
	return s.hub.Run(ctx)
}

// Configure changes who is let in. Those who are in stay.
func (s *Server) Configure(a wire.Access) { s.hub.Configure(a) }

// Stats says how the clients are doing.
func (s *Server) Stats() wire.Stats { return s.hub.Stats() }

// Handler serves the port: WebSocket at any path, and a little HTTP.
func (s *Server) Handler() http.Handler { return s.hub.Handler() }

// Answer implements wire.Methods.
func (s *Server) Answer(ctx context.Context, call *wire.Call) (any, error) {
	m := s.methods[call.Method]
	if m == nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown method: " + call.Method}
	}
	// Reads of transcripts take of the share, before anything else is done: a method that is refused there can be called again.
	share := s.opts.Reads.Open()
	defer share.Close()
	var payload any
	err := share.Read(ctx, cmp.Or(s.opts.ReadWait, budget.Patience), func(ctx context.Context) (err error) {
		payload, err = m(ctx, call)
		return err
	})
	if held, is := errors.AsType[*budget.FullError](err); is {
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: held.Error(), Retryable: true, RetryAfter: budget.RetryAfter.Milliseconds(),
			Details: absence{held.Code()}}
	}
	return payload, troubleOf(err)
}

// Knows implements wire.Methods.
func (s *Server) Knows(method string) bool { return s.methods[method] != nil }

// Names implements wire.Methods.
func (s *Server) Names() (methods, events []string) {
	events = []string{"connect.challenge", eventChat, "presence", "tick", "shutdown", "health", eventSessionsChanged, eventSessionMessage}
	if s.opts.Runs != nil {
		events = append(events, eventAgent)
	}
	return slices.Sorted(maps.Keys(s.methods)), events
}
