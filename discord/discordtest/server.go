package discordtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
	"github.com/pronto-lab/openclawd/internal/faults"
)

// Options of a Server. The zero value has Discord's usual limits and the system's clock.
type Options struct {
	Now       func() time.Time // time of ids, messages, buckets, nonces and tokens; default: time.Now
	Heartbeat time.Duration    // interval requested from clients; default: 41.25 s
	Limits    map[string]Limit // by route, e.g. "POST /channels/{channel}/messages"; nil: DefaultLimits
	Global    Limit            // all requests of one bot; zero: 50 per second
}

// Server is one Discord. Its methods are safe for concurrent use, except from test functions of a match, which run
// under its lock.
type Server struct {
	now       func() time.Time
	heartbeat time.Duration
	address   string
	http      *http.Server
	transport *http.Transport
	served    chan struct{}
	closed    chan struct{}
	sockets   sync.WaitGroup

	mu           sync.Mutex
	changed      chan struct{} // closed and replaced whenever something happens
	shut         bool
	ids          snowflakes
	accounts     map[string]*account
	bots         []*account // in the order of AddBot
	guilds       map[string]*guild
	channels     map[string]*channel
	webhooks     map[string]*webhook
	commands     map[string][]*Command // by application and guild
	interactions map[string]*interaction
	nonces       map[string]nonceUse
	files        map[string][]byte // by path
	limits       map[string]Limit
	global       Limit
	buckets      map[string]*bucket
	faults       *faults.Faults[Request, Effect]
	dispatches   []*InjectedDispatch
	requests     []*Request
	sessions     []*gatewaySession // in order of creation
	open         []*socket
}

// New starts a server on a loopback port.
func New(options Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the test Discord: %w", err)
	}
	s := &Server{
		now: options.Now, heartbeat: options.Heartbeat, limits: options.Limits, global: options.Global,
		address: listener.Addr().String(), served: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{}),
		accounts: map[string]*account{}, guilds: map[string]*guild{}, channels: map[string]*channel{}, webhooks: map[string]*webhook{},
		commands: map[string][]*Command{}, interactions: map[string]*interaction{}, nonces: map[string]nonceUse{}, files: map[string][]byte{}, buckets: map[string]*bucket{},
	}
	s.faults = faults.New[Request, Effect](&s.mu)
	if s.now == nil {
		s.now = time.Now
	}
	if s.heartbeat <= 0 {
		s.heartbeat = 41250 * time.Millisecond
	}
	if s.limits == nil {
		s.limits = DefaultLimits()
	}
	if s.global == (Limit{}) {
		s.global = Limit{Requests: 50, Per: time.Second}
	}
	// One connection per request: a client that finds its connection cut must not retry on its own.
	s.transport = &http.Transport{DisableKeepAlives: true, DialContext: s.dial, Proxy: nil}
	s.http = &http.Server{Handler: s.handler(), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
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
		for _, k := range s.open {
			k.cut()
		}
	}
	s.mu.Unlock()
	err := s.http.Close()
	s.transport.CloseIdleConnections()
	<-s.served
	s.sockets.Wait()
	return err
}

// URL is the base of the REST routes, without a version: http://127.0.0.1:port/api.
func (s *Server) URL() string { return "http://" + s.address + "/api" }

// GatewayURL is the socket address given to clients.
func (s *Server) GatewayURL() string { return "ws://" + s.address + "/gateway" }

// Transport redirects requests for discord.com to this server, and refuses those for any other host.
func (s *Server) Transport() http.RoundTripper { return inside{s} }

// Dialer opens sockets to this server, whatever the address.
func (s *Server) Dialer() *websocket.Dialer {
	return &websocket.Dialer{NetDialContext: s.dial, HandshakeTimeout: 10 * time.Second}
}

// Point directs a session to this server. Call it before the session is opened or used.
func (s *Server) Point(session *discordgo.Session) {
	client := http.Client{}
	if session.Client != nil {
		client = *session.Client
	}
	client.Transport = s.Transport()
	session.Client, session.Dialer = &client, s.Dialer()
}

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
}

// ErrOutside is the error of a request to another host.
var ErrOutside = errors.New("discordtest: only requests for discord.com are answered")

// hosts are those of Discord.
var hosts = []string{"discord.com", "discordapp.com", fileHost}

type inside struct{ s *Server }

func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := r.URL.Hostname(); !slices.Contains(hosts, host) && r.URL.Host != i.s.address {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("%w, not %s", ErrOutside, r.URL.Host)
	}
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = "http", i.s.address
	return i.s.transport.RoundTrip(r)
}

// happened wakes waiters. The lock is held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ErrClosed is the error of waiting on a closed server.
var ErrClosed = errors.New("discordtest: the server is closed")
