package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Store is what the API needs of the log.
type Store interface {
	// View runs read in one read transaction.
	View(ctx context.Context, read func(*sql.Tx) error) error
	// EventsIn reads events by their seqs, in that order; unknown ones are left out.
	EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
	Head(ctx context.Context) (eventstore.Head, error)
	// Wait blocks until the log's head is at least seq.
	Wait(ctx context.Context, seq int64) (int64, error)
}

// Options of New. Store and Rules are required.
type Options struct {
	Store   Store
	Rules   coordination.Rules
	Now     func() time.Time // default: time.Now
	Hosts   []string         // names, without port, under which the API may be asked, beside loopback ones and the address asked
	Version string           // shown by GET /api
	// Durability is what an acknowledged append has survived, and Importing how far the import of logs under way is; both for health.
	Durability string
	Importing  func() (done, total int64, running bool)
	Logger     *slog.Logger

	// Bounds of one answer. Zero means the default.
	MaxWait   time.Duration // how long min_seq waits for the log
	MaxEvents int           // in a list of work sessions; of events there is a limit in every request
	MaxBytes  int           // of the payloads of events
}

// Defaults of Options.
const (
	DefaultMaxWait   = 5 * time.Second
	DefaultMaxEvents = 20_000
	DefaultMaxBytes  = 32 << 20
)

// maxBodyBytes bounds the body of a request. Reads ignore it.
const maxBodyBytes = 1 << 20

// Server answers requests. It is safe for concurrent use.
type Server struct {
	opts Options
	echo *echo.Echo
}

// New returns a server that is ready to answer.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.MaxWait = cmp.Or(opts.MaxWait, DefaultMaxWait)
	opts.MaxEvents = cmp.Or(opts.MaxEvents, DefaultMaxEvents)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, DefaultMaxBytes)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, echo: echo.New()}
	s.echo.HTTPErrorHandler = s.refuse
	s.echo.Pre(survive, s.admit, s.share)
	for _, r := range s.routes() {
		switch r.method {
		case "":
			s.echo.Match([]string{http.MethodGet, http.MethodHead}, r.path, r.answer)
		default:
			s.echo.Add(r.method, r.path, s.authorise(r.answer))
		}
	}
	return s
}

// Run does what goes on without being asked, until ctx ends. A server that does not run answers all the same.
func (s *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Handler answers every path of the API. It expects a server that bounds headers and waits.
func (s *Server) Handler() http.Handler { return http.MaxBytesHandler(s.echo, maxBodyBytes) }

// route is one thing that can be asked or done.
type route struct {
	method string // "" is GET and HEAD; any other one writes, and has to be authorised
	path   string
	shown  string // how GET /api lists it; "" leaves it out
	answer echo.HandlerFunc
}

func (s *Server) routes() []route {
	return []route{
		{"", "/", "", s.describe},
		{"", "/api", "", s.describe},
		{"", "/api/openapi.yaml", "GET /api/openapi.yaml", s.describeFully},
		{"", "/api/health", "GET /api/health", s.health},
		{"", "/api/events", "GET /api/events", s.listEvents},
		{"", "/api/work-sessions", "GET /api/work-sessions", s.listSessions},
		{"", "/api/work-sessions/*", "GET /api/work-sessions/:id", s.showSession},
		{"", "/api/categories", "GET /api/categories", s.listCategories},
	}
}

// survive makes a panic an error of its request.
func survive(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(c)
	}
}
