// Package gateway implements the methods of the OpenClaw gateway protocol: sessions, transcripts and configuration,
// for existing OpenClaw clients. gateway/wire transports frames, gateway/protocol defines them.
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
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/skill"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/page"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Log is the part of the store that the gateway needs.
type Log interface {
	eventstore.Reader
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Configuration is openclaw.json and the configuration in force.
type Configuration interface {
	// InForce is never nil and immutable; the next call may return another one.
	InForce() *config.Config
	// Document reads the file as it is, valid or not.
	Document() (*config.Document, error)
	// Write replaces the file with next unless it has changed since it was read, appends the event and applies it.
	// waiting lists the settings that require a restart.
	Write(ctx context.Context, next *config.Document, what coordination.ConfigPatched) (waiting []string, err error)
}

// Logs is the end of the program's own log.
type Logs interface {
	// Tail returns the lines after cursor, only the newest ones within limit and maxBytes; a negative cursor is the
	// beginning.
	Tail(cursor int64, limit, maxBytes int) LogTail
}

// LogTail is a section of the log. Lines are JSON objects.
type LogTail struct {
	Source    string   // source of the lines, for people
	Cursor    int64    // the next cursor
	Size      int64    // bytes of the whole log so far
	Lines     []string // without newlines
	Truncated bool     // older lines were dropped
	Reset     bool     // the cursor was from an earlier run of the program
}

// Options of New. All are required unless marked as nil.
type Options struct {
	Log           Log
	Configuration Configuration
	Logs          Logs
	Access        wire.Access
	Now           func() time.Time
	NewID         func() string // a new UUID
	Logger        *slog.Logger
	Version       string
	StateDir      string
	Database      string // path of the log file, for people
	StartedAt     time.Time
	Runs          Runs     // nil: no agents run
	Tools         tool.Box // nil: none
	Posts         Posts    // nil: nothing is posted
	Media         Media    // nil: no files are posted
	// Bots returns the state of the configured accounts, by id. Accounts of unknown state may be missing. nil: none run.
	Bots      func() []health.Bot
	Approvals Approvals // nil: no approvals here
	Schedules Schedules // nil: no jobs are kept here
	Pairings  Pairings  // nil: no agents run here
	Workers   Workers   // nil: no agents run here
	Files     Files     // nil: agents have no files here
	// Page is the Control UI served on the gateway's port; nil: none.
	Page *page.Site
	// Reads limits the memory of all answers with transcripts, possibly shared with others; nil: unlimited.
	Reads       *budget.Budget
	Transcripts *sessions.Cache // keeps messages that were read, possibly shared with others; nil: none are kept
	ReadWait    time.Duration   // how long an answer waits for memory; default budget.Patience
	// Skills returns the skills in an agent's workspace; its errors are for people. nil: there are none.
	Skills func(agentID string) ([]skill.Status, error)
	// Workspace returns the directory of an agent's files, "" for none. nil: there are none.
	Workspace func(agentID string) string
}

// Server is a gateway.
type Server struct {
	opts    Options
	hub     *wire.Hub
	methods map[string]answer
	health  healthCache // the newest answer

	watchers *watchers // changes of sessions
	lists    *sessionLists
	shown    *shownCache
	feed     *feed
	notifier *runNotifier // updates of runs
	tools    tool.Box     // by the names clients use; nil: none
	writing  sync.Mutex   // held while an agent's file is compared and written
	commands sync.Map     // commands in progress, by request key
}

// answer implements one method. See wire.Methods.
type answer func(ctx context.Context, call *wire.Call) (payload any, err error)

// New returns a gateway that accepts connections once Run runs.
func New(opts Options) *Server {
	s := &Server{opts: opts, methods: map[string]answer{}, watchers: newWatchers(), shown: newShownCache(shownBytes), notifier: newRunNotifier(),
		tools: newOnceBox(opts.Tools, opts.Now)}
	s.feed = &feed{server: s}
	for _, some := range []map[string]answer{s.stateMethods(), s.sessionMethods(), s.chatMethods(), s.agentMethods(), s.configMethods(),
		s.toolMethods(), s.usageMethods(), s.taskMethods(), s.approvalMethods(), s.systemMethods(), s.cronMethods(), s.pairingMethods(), s.workerMethods(), s.absentMethods(), s.absentPages()} {
		maps.Copy(s.methods, some)
	}
	programs := s.newHTTP()
	s.hub = wire.New(s, wire.Options{Access: opts.Access, Now: opts.Now, NewID: opts.NewID, Logger: opts.Logger, Version: opts.Version,
		Posts: programs.Post, Gets: programs.Get, Page: s.newPage()})
	return s
}

// Run serves connections and broadcasts updates until ctx ends, then closes the connections.
func (s *Server) Run(ctx context.Context) error {
	if s.opts.Runs != nil {
		defer s.notifier.follow(s.opts.Runs, s.hub)()
	}
	after := int64(-1)
	if head, err := s.opts.Log.Head(ctx); err == nil { // before the first connection is accepted
		after = head.Seq
	}
	telling, stop := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { s.feed.run(telling, after) })
	if s.opts.Approvals != nil {
		told.Go(func() { s.tellApprovals(telling, max(after, 0)) })
	}
	defer told.Wait()
	defer stop()
	return s.hub.Run(ctx)
}

// Configure changes who may connect. Existing connections stay.
func (s *Server) Configure(a wire.Access) { s.hub.Configure(a) }

// Stats returns statistics of the connections.
func (s *Server) Stats() wire.Stats { return s.hub.Stats() }

// Handler serves the port: WebSocket at any path, and the HTTP endpoints.
func (s *Server) Handler() http.Handler { return s.hub.Handler() }

// Admit serves a WebSocket of a client that the caller has identified.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request, g wire.Guest) { s.hub.Admit(w, r, g) }

// unhurried are methods whose appends keep their place behind what others wait for: callers of agent wait for the end
// of the run, and what stops runs must not be stored before those which the client has sent just before.
var unhurried = map[string]bool{methodAgent: true, "chat.abort": true, "sessions.reset": true, "sessions.delete": true}

// Answer implements wire.Methods.
func (s *Server) Answer(ctx context.Context, call *wire.Call) (any, error) {
	m := s.methods[call.Method]
	if m == nil {
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unknown method: " + call.Method}
	}
	// Transcript reads take memory from the budget first: a method refused there can be called again.
	share := s.opts.Reads.Open()
	defer share.Close()
	var payload any
	if !unhurried[call.Method] {
		ctx = eventstore.Urgent(ctx)
	}
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
	if s.opts.Approvals != nil {
		events = append(events, eventApprovalRequested, eventApprovalResolved)
	}
	if s.opts.Runs != nil {
		events = append(events, eventAgent)
	}
	return slices.Sorted(maps.Keys(s.methods)), events
}
