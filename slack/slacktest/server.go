package slacktest

import (
	"cmp"
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

// Options of a Server. The zero value has Slack's usual limits and the system's clock.
type Options struct {
	Now     func() time.Time // time of messages, limits and signatures; default: time.Now
	Limits  map[string]Limit // by method, e.g. "chat.postMessage"; nil: DefaultLimits
	Ack     time.Duration    // after which an unacknowledged delivery has failed; default: 3 s
	Retries []time.Duration  // delays before failed deliveries are made again; nil: DefaultRetries
	Ping    time.Duration    // interval of pings on sockets; default: 10 s

	NoOwnPosts bool // apps are not told of what they post themselves
}

// DefaultRetries are the delays that Slack documents: nearly at once, after a minute, after five minutes.
func DefaultRetries() []time.Duration {
	return []time.Duration{10 * time.Millisecond, time.Minute, 5 * time.Minute}
}

// NoRetries is for tests in which a failed delivery is lost.
func NoRetries() []time.Duration { return []time.Duration{} }

// Server is one workspace. Its methods are safe for concurrent use, except from test functions of a match, which run
// under its lock.
type Server struct {
	o       Options
	address string
	http    *http.Server
	client  *http.Client // for the Events API
	served  chan struct{}
	closed  chan struct{}
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	parts   sync.WaitGroup // sockets, deliveries

	mu            sync.Mutex
	changed       chan struct{} // closed and replaced whenever something happens
	shut          bool
	made          int64 // ids
	last          int64 // the newest timestamp, in microseconds
	apps          []*app
	users         map[string]*User
	order         []string // ids of users, in the order of their creation
	conversations map[string]*conversation
	listed        []*conversation // in the order of their creation
	files         map[string]*file
	tickets       map[string]*app // for sockets, each once
	uses          map[string]*use // by the secret part of their response_url
	buckets       map[string]*bucket
	faults        *faults.Faults[Request, Effect]
	requests      []*Request
	deliveries    []*delivery
	sockets       []*socket
}

// TeamID and TeamName are the workspace's.
const (
	TeamID   = "T00000001"
	TeamName = "Lab"
)

// New starts a server on a loopback port.
func New(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the test Slack: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits == nil {
		o.Limits = DefaultLimits()
	}
	if o.Retries == nil {
		o.Retries = DefaultRetries()
	}
	o.Ack, o.Ping = cmp.Or(o.Ack, 3*time.Second), cmp.Or(o.Ping, 10*time.Second)
	s := &Server{
		o: o, address: listener.Addr().String(), served: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		users:  map[string]*User{}, conversations: map[string]*conversation{}, files: map[string]*file{}, tickets: map[string]*app{},
		uses: map[string]*use{}, buckets: map[string]*bucket{},
	}
	s.faults = faults.New[Request, Effect](&s.mu)
	s.ctx, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s.handler(), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
	s.http.SetKeepAlivesEnabled(false) // a client that finds its connection cut must not retry on its own
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// Close stops the server: sockets are cut, held answers are given up, and all goroutines have ended when it returns.
// It may be called twice.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.shut {
		s.shut = true
		close(s.closed)
		s.end()
		for _, k := range s.sockets {
			k.cut()
		}
		for _, d := range s.deliveries {
			d.stopTimer()
		}
	}
	s.mu.Unlock()
	err := s.http.Close()
	<-s.served
	s.parts.Wait()
	return err
}

// URL is the base of the Web API, with a slash at its end.
func (s *Server) URL() string { return "http://" + s.address + "/api/" }

// Host is the address of all that the server offers, without a path.
func (s *Server) Host() string { return s.address }

// happened wakes waiters. The lock is held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ErrClosed is the error of waiting on a closed server.
var ErrClosed = errors.New("slacktest: the server is closed")
