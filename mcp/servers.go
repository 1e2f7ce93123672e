package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/tools"
)

// Options of New. Config and Logger are required.
type Options struct {
	Config  func() *config.Config // in force; never nil
	Logger  *slog.Logger
	Getenv  func(string) string // the environment of this program; nil: none
	Version string              // of this program, for servers
	Grants  string              // the directory of what people have granted with OAuth; "": there is none
	// Called is told of each call that was made, with its outcome. It must not block. nil: none is told.
	Called func(server string, outcome Outcome, took time.Duration)
}

// Outcome is the outcome of a call.
type Outcome string

const (
	OK      Outcome = "ok"
	Failed  Outcome = "error"   // the server reported an error
	Unknown Outcome = "unknown" // it may or may not have had its effect
	Unmade  Outcome = "unmade"  // the server was not reachable
)

// Servers are the MCP servers of the configuration in force. Their methods are safe for concurrent use.
type Servers struct {
	opts Options

	mu     sync.Mutex
	all    map[string]*server // by name
	closed bool
	ending sync.WaitGroup // servers that are being closed
}

// New returns Servers; none is started yet.
func New(o Options) *Servers {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Called == nil {
		o.Called = func(string, Outcome, time.Duration) {}
	}
	return &Servers{opts: o, all: map[string]*server{}}
}

// maxAll bounds what the tools of all servers add to prompts, in bytes. Servers beyond that, in order of their names, have no tools.
const maxAll = 1 << 20

// Sets implements tools.Source.
func (s *Servers) Sets() []*tools.Set {
	var sets []*tools.Set
	left := maxAll
	for _, one := range s.configured() {
		offer := one.offer.Load()
		if offer == nil || offer.bytes > left {
			continue
		}
		left -= offer.bytes
		sets = append(sets, offer.set)
	}
	return sets
}

// firstTime bounds how long a run waits for servers.
const firstTime = 10 * time.Second

// Await implements tools.Source. It starts the servers that the caller could use, all at the same time. One that has failed is started
// again without waiting for it: what it does wrong delays no run twice.
func (s *Servers) Await(ctx context.Context, could func(prefix string) bool) {
	ctx, stop := context.WithTimeout(ctx, firstTime)
	defer stop()
	var wait sync.WaitGroup
	for _, one := range s.configured() {
		if could(config.MCPPrefix(one.conf.Name)) {
			wait.Go(func() { one.await(ctx) })
		}
	}
	wait.Wait()
}

// configured returns the servers of the configuration in force, by name. Others are closed.
func (s *Servers) configured() []*server {
	conf := s.opts.Config()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	var list []*server
	for i := range conf.MCP.Servers {
		c := &conf.MCP.Servers[i]
		if !c.Enabled {
			continue
		}
		one := s.all[c.Name]
		if one == nil || !one.runs(c) {
			if one != nil {
				s.end(one)
			}
			one = newServer(&s.opts, *c)
			s.all[c.Name] = one
		}
		list = append(list, one)
	}
	if len(s.all) > len(list) {
		for name, one := range s.all {
			if conf.MCPServerNamed(name) == nil {
				s.end(one)
				delete(s.all, name)
			}
		}
	}
	return list
}

// end closes a server in the background.
func (s *Servers) end(one *server) { s.ending.Go(one.close) }

// Close ends all servers, and returns when their processes are gone.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	for _, one := range s.all {
		s.end(one)
	}
	s.all = map[string]*server{}
	s.mu.Unlock()
	s.ending.Wait()
}

// State says how a server is.
type State struct {
	Name      string    `json:"name"`
	Transport string    `json:"transport"`
	Launch    string    `json:"launch"`
	State     string    `json:"state"`            // idle, starting, ready, down, disabled
	Tools     []string  `json:"tools"`            // as agents call them
	Server    string    `json:"server,omitempty"` // what it calls itself
	Protocol  string    `json:"protocol,omitempty"`
	Starts    int64     `json:"starts"`
	Failures  int64     `json:"failures"` // starts that failed, and connections that were lost
	Error     string    `json:"error,omitempty"`
	RetryAt   time.Time `json:"retryAt,omitzero"`
	Since     time.Time `json:"since,omitzero"`     // of ready: when it was connected
	Problems  []string  `json:"problems,omitempty"` // tools that are left out, and why
	Log       []string  `json:"log,omitempty"`      // the last lines that its program wrote, also after its end
}

// States of a State.
const (
	StateIdle     = "idle"
	StateStarting = "starting"
	StateReady    = "ready"
	StateDown     = "down"
	StateDisabled = "disabled"
)

// States returns how the servers are, by name.
func (s *Servers) States() []State {
	var list []State
	for _, one := range s.configured() {
		list = append(list, one.state())
	}
	conf := s.opts.Config()
	for i := range conf.MCP.Servers {
		if c := &conf.MCP.Servers[i]; !c.Enabled {
			list = append(list, State{Name: c.Name, Transport: c.Transport(), Launch: c.Launch(), State: StateDisabled, Tools: []string{}})
		}
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
