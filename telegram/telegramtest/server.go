package telegramtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Options of a Server. The zero value has Telegram's usual limits and the system's clock.
type Options struct {
	Now    func() time.Time // time of messages and limits; default: time.Now
	Limits *Limits          // nil: DefaultLimits
	Retry  time.Duration    // delay before a webhook is called again; default: one second
}

// Server is one Telegram. Its methods are safe for concurrent use, except from test functions of a Match, which run
// under its lock.
type Server struct {
	now     func() time.Time
	retry   time.Duration
	address string
	http    *http.Server
	served  chan struct{}
	closed  chan struct{}
	hooks   sync.WaitGroup
	client  *http.Client // calls webhooks

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever something happens
	shut     bool
	lastID   int64
	accounts map[int64]*account
	bots     []*account
	chats    map[int64]*chat // groups and supergroups
	files    map[string]*file
	queries  map[string]*query
	twice    bool // updates come twice
	limits   Limits
	buckets  map[string]*bucket
	faults   *faults.Faults[Request, Effect]
	requests []*Request
}

// New starts a server on a loopback port.
func New(options Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the test Telegram: %w", err)
	}
	s := &Server{
		now: options.Now, retry: options.Retry, limits: DefaultLimits(), address: listener.Addr().String(), served: make(chan struct{}),
		closed: make(chan struct{}), changed: make(chan struct{}), accounts: map[int64]*account{}, chats: map[int64]*chat{},
		files: map[string]*file{}, queries: map[string]*query{}, buckets: map[string]*bucket{},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second},
	}
	s.faults = faults.New[Request, Effect](&s.mu)
	if s.now == nil {
		s.now = time.Now
	}
	if s.retry <= 0 {
		s.retry = time.Second
	}
	if options.Limits != nil {
		s.limits = *options.Limits
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
	s.http.SetKeepAlivesEnabled(false) // a client that finds its connection cut must not retry on its own
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// Close stops the server: held answers are given up, and all goroutines have ended when it returns. It may be called
// twice.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.shut {
		s.shut = true
		close(s.closed)
	}
	s.mu.Unlock()
	err := s.http.Close()
	<-s.served
	s.hooks.Wait()
	return err
}

// URL replaces https://api.telegram.org.
func (s *Server) URL() string { return "http://" + s.address }

// happened wakes waiters. The lock is held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ErrClosed is the error of waiting on a closed server.
var ErrClosed = errors.New("telegramtest: the server is closed")

// Until returns nil as soon as so returns true: it is called at once, and whenever something happens. It may call
// inspecting methods. The error is the context's, or ErrClosed.
func (s *Server) Until(ctx context.Context, so func() bool) error {
	return faults.Until(ctx, s.changes, s.closed, ErrClosed, so)
}

// changes is closed when something happens.
func (s *Server) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
