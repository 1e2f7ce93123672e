package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Store is the log of this node, a copy of the shared one.
type Store interface {
	// Follow applies the shared log until ctx ends.
	Follow(ctx context.Context) error
	// Lead makes this node the writer, and Led returns when it cannot be that any more.
	Lead(ctx context.Context, lease shared.Lease) error
	Led(ctx context.Context) error
	// SharedHead is the newest record that is applied, and whether this node is the writer.
	SharedHead() (head shared.Head, writes bool)
}

// Role is what a node does.
type Role = health.ClusterRole

// Roles.
const (
	Writer   = health.ClusterWriter
	Follower = health.ClusterFollower
	Reader   = health.ClusterReader
	Out      = health.ClusterOut
)

// Options of New. All are required unless stated otherwise.
type Options struct {
	Log     shared.Log
	Store   Store
	Name    string // of this node, unlike those of others
	Reader  bool
	Lease   time.Duration // for which the writer may be silent
	At      health.NodeAddresses
	Token   string // that nodes show each other
	Version string // may be ""
	Schema  int64  // newest one that the program knows
	Process string // random
	Now     func() time.Time
	Logger  *slog.Logger

	// Serve does the work of a role until ctx ends, then ends it in order. If it returns before, the node ends.
	Serve func(ctx context.Context, role Role) error
}

// Node is one node. It is safe for concurrent use.
type Node struct {
	opts  Options
	tries chan struct{} // has one when the lease may be free
	yield chan struct{} // has one when the writer is to step down

	saying sync.Mutex // held while it announces itself

	mu      sync.Mutex
	role    Role
	since   time.Time
	rest    time.Time                     // until then it does not try to get the lease
	stands  time.Time                     // until then it is the one that is to be the writer
	peers   map[string]health.ClusterNode // by name
	epoch   int64                         // newest one that was seen
	moved   chan struct{}                 // closed and replaced when that changes
	failed  error                         // why it is out
	shaky   error                         // why the shared log could not be used at the last attempt
	takes   int64                         // times that this node became the writer
	newest  int64                         // newest schema of a program that has written
	twin    health.ClusterNode            // what another process said in the name of this node
	started time.Time
}

// New returns a node that does nothing before Run.
func New(opts Options) *Node {
	return &Node{opts: opts, tries: make(chan struct{}, 1), yield: make(chan struct{}, 1), role: opts.follows(), since: opts.Now(), started: opts.Now(), moved: make(chan struct{}), peers: map[string]health.ClusterNode{}}
}

func (o *Options) follows() Role {
	if o.Reader {
		return Reader
	}
	return Follower
}

// Run is the life of the node, until ctx ends. Errors: those of Serve, or one for which shared.Fatal is not nil: then
// this node's data and the shared log do not agree, which was said to the other nodes, or another process has its name.
func (n *Node) Run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	beside, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { n.announce(beside, end) })
	others.Go(func() { n.watchEpoch(beside) })
	if !n.opts.Reader {
		others.Go(func() { n.watchWriter(beside) })
	}
	err := n.live(ctx)
	stop()
	others.Wait()
	if taken := new(shared.NameTakenError); errors.As(context.Cause(ctx), &taken) {
		return taken
	}
	n.leave(context.WithoutCancel(ctx), err)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

func (n *Node) live(ctx context.Context) error {
	for {
		lease, err := n.follow(ctx)
		if err != nil || lease == nil {
			return err
		}
		if err := n.lead(ctx, *lease); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// become changes the role.
func (n *Node) become(role Role) {
	n.mu.Lock()
	changed := n.role != role
	n.role = role
	if changed {
		n.since = n.opts.Now()
	}
	if changed && role == Writer {
		n.takes++
		n.stands = time.Time{}
	}
	n.mu.Unlock()
	if changed {
		n.opts.Logger.Info("this node has another role", "node", n.opts.Name, "role", role)
	}
}

var errElected = errors.New("the lease was taken")

// follow serves as a follower until the lease was taken. The lease is nil when ctx ends.
func (n *Node) follow(ctx context.Context) (*shared.Lease, error) {
	n.become(n.opts.follows())
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var lease *shared.Lease
	parts := newParts(stop)
	parts.run(func() error { return n.apply(serving) })
	parts.run(func() error { return n.serve(serving, n.opts.follows()) })
	if !n.opts.Reader {
		parts.run(func() (err error) {
			lease, err = n.campaign(serving)
			return err
		})
	}
	err := parts.wait()
	switch {
	case errors.Is(err, errElected) && ctx.Err() != nil:
		n.release(ctx, *lease)
		return nil, nil
	case errors.Is(err, errElected):
		return lease, nil
	}
	return nil, err
}

// serve is Serve, whose end before ctx's is an error.
func (n *Node) serve(ctx context.Context, role Role) error {
	err := n.opts.Serve(ctx, role)
	if err == nil && ctx.Err() == nil {
		return fmt.Errorf("the services of the %s ended unexpectedly", role)
	}
	return err
}

// retries are the pauses after failures of the shared log.
var retries = backoff.Backoff{First: 50 * time.Millisecond, Most: time.Second}

// apply follows the shared log until ctx ends, and returns what does not pass by itself.
func (n *Node) apply(ctx context.Context) error {
	for failures := 1; ; failures++ {
		began := n.opts.Now()
		err := n.opts.Store.Follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case shared.Fatal(err) != nil:
			return err
		}
		n.falter(err)
		if n.opts.Now().Sub(began) > time.Minute {
			failures = 1
		}
		n.opts.Logger.Warn("the shared log cannot be followed; will retry", "err", err)
		if wait.For(ctx, retries.After(failures)) != nil {
			return nil
		}
	}
}

// falter records why the shared log could not be used; nil: it could.
func (n *Node) falter(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shaky = err
}

// triesEvery is how often a follower tries to get the lease.
const triesEvery = 200 * time.Millisecond

// campaign tries to get the lease until it has it, which is errElected, or ctx ends.
func (n *Node) campaign(ctx context.Context) (*shared.Lease, error) {
	for failures := 0; ; {
		lease, err := n.try(ctx)
		switch {
		case err == nil && lease != nil:
			return lease, errElected
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			failures++
			n.falter(err)
			n.opts.Logger.Debug("cannot ask for the lease", "err", err)
		default:
			failures = 0
			n.falter(nil)
		}
		pause := triesEvery
		if failures > 0 {
			pause = retries.After(failures)
		}
		wait.Woken(ctx, n.tries, pause)
	}
}

// callTime bounds a question to the shared log.
const callTime = 5 * time.Second

// try asks for the lease, if this node has all of the log. The lease is nil if that is not so, or another holds it.
func (n *Node) try(ctx context.Context) (*shared.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	n.mu.Lock()
	rests, newest := n.opts.Now().Before(n.rest), n.newest
	n.mu.Unlock()
	if rests {
		return nil, nil
	}
	if newest > n.opts.Schema {
		return nil, &shared.OldError{Own: n.opts.Schema, Newest: newest}
	}
	head, err := n.opts.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	if own, _ := n.opts.Store.SharedHead(); own.Number < head.Number {
		return nil, nil
	}
	lease, err := n.opts.Log.Acquire(ctx, n.opts.Name, n.opts.Lease)
	if errors.As(err, new(*shared.HeldError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &lease, nil
}

// wake has the node try to get the lease now.
func (n *Node) wake() {
	select {
	case n.tries <- struct{}{}:
	default:
	}
}

// lead is the writer's time. It returns nil when the node is to follow again, or when ctx ends.
func (n *Node) lead(ctx context.Context, lease shared.Lease) error {
	holding, enough := context.WithCancel(context.WithoutCancel(ctx)) // until the services have ended
	defer enough()
	lost := make(chan error, 2)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer enough()
	beside.Go(func() { lost <- n.renew(holding, lease) })
	err := n.leaveSchema(ctx)
	if err == nil {
		err = n.opts.Store.Lead(ctx, lease)
	}
	if err != nil {
		n.release(ctx, lease)
		if shared.Fatal(err) != nil {
			return err
		}
		n.opts.Logger.Warn("this node has the lease and cannot lead; it follows", "err", err)
		return nil
	}
	select {
	case <-n.yield: // of an earlier time
	default:
	}
	n.falter(nil)
	n.become(Writer)
	beside.Go(func() { lost <- n.opts.Store.Led(holding) })
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- n.serve(serving, Writer) }()
	var why error
	select {
	case err := <-served:
		n.release(ctx, lease)
		return err
	case why = <-lost:
		n.opts.Logger.Warn("another node writes from now on, or none does: ending the services of the writer", "err", why)
		if errors.As(why, new(*shared.FailingError)) {
			n.pause()
		}
	case <-n.yield:
		n.opts.Logger.Info("stepping down: ending the services of the writer")
		n.pause()
	}
	n.become(n.opts.follows())
	stop()
	err = <-served
	n.handOver(ctx, lease)
	if why != nil && shared.Fatal(why) != nil {
		return why
	}
	return err
}

// pause gives other nodes time to take the lease.
func (n *Node) pause() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rest = n.opts.Now().Add(n.opts.Lease + time.Second)
}

// renew holds the lease until ctx ends, or it is another's. While the shared log cannot be reached, nothing is lost: no
// other node can append either, or the log says so.
func (n *Node) renew(ctx context.Context, lease shared.Lease) error {
	every := n.opts.Lease / 3
	for {
		if err := wait.For(ctx, every); err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, max(every, time.Second))
		err := n.opts.Log.Renew(call, lease, n.opts.Lease)
		cancel()
		if errors.As(err, new(*shared.HeldError)) {
			return err
		}
		n.falter(err)
		if err != nil && ctx.Err() == nil {
			n.opts.Logger.Warn("the lease cannot be renewed; will retry", "err", err)
		}
	}
}

// handOver gives the lease to the node that stands for it, or back.
func (n *Node) handOver(ctx context.Context, lease shared.Lease) {
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	peers, err := Peers(brief, n.opts.Log)
	for name := range peers {
		if p := peers[name]; p.Stands && p.Role == Follower && name != n.opts.Name {
			if err = n.opts.Log.HandOver(brief, lease, name, n.opts.Lease); err == nil {
				return
			}
		}
	}
	if err != nil {
		n.opts.Logger.Warn("the lease cannot be handed over; it is given back", "err", err)
	}
	n.release(ctx, lease)
}

// release gives the lease back, so that another node need not wait for its end.
func (n *Node) release(ctx context.Context, lease shared.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := n.opts.Log.Release(ctx, lease); err != nil {
		n.opts.Logger.Warn("the lease cannot be given back; it ends by itself", "err", err)
	}
}

// watchEpoch ends what is passed on to a writer when there is another, until ctx ends.
func (n *Node) watchEpoch(ctx context.Context) {
	for wait.For(ctx, looksEvery) == nil {
		n.lookAtEpoch()
	}
}

// lookAtEpoch returns what is closed when another epoch than the present one is seen.
func (n *Node) lookAtEpoch() <-chan struct{} {
	head, _ := n.opts.Store.SharedHead()
	n.mu.Lock()
	defer n.mu.Unlock()
	if head.Epoch != n.epoch {
		n.epoch = head.Epoch
		close(n.moved)
		n.moved = make(chan struct{})
	}
	return n.moved
}

// untilMoved returns a context that ends with the epoch, too.
func (n *Node) untilMoved(ctx context.Context) (context.Context, context.CancelFunc) {
	moved := n.lookAtEpoch()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-moved:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// parts run together. The first that returns an error stops all; those that return nil end alone.
type parts struct {
	stop  context.CancelCauseFunc
	going sync.WaitGroup
	once  sync.Once
	err   error
}

func newParts(stop context.CancelCauseFunc) *parts { return &parts{stop: stop} }

func (p *parts) run(part func() error) {
	p.going.Go(func() {
		if err := part(); err != nil {
			p.once.Do(func() {
				p.err = err
				p.stop(err)
			})
		}
	})
}

func (p *parts) wait() error {
	p.going.Wait()
	return p.err
}
