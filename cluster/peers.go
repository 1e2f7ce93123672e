package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/internal/wait"
)

const (
	// saysEvery is how often a node says how it is.
	saysEvery = time.Second
	// saidFor is how long that counts.
	saidFor = 5 * time.Second
	// outFor is how long a node is remembered that has stopped because only people can repair it.
	outFor = 7 * 24 * time.Hour
)

// self is what this node says of itself.
func (n *Node) self() health.ClusterNode {
	head, _ := n.opts.Store.SharedHead()
	n.mu.Lock()
	defer n.mu.Unlock()
	p := health.ClusterNode{Node: n.opts.Name, Role: n.role, At: n.opts.At, Record: head.Number, Seq: head.Seq, Hash: head.Hash.String(), Epoch: head.Epoch,
		Stands: n.opts.Now().Before(n.stands), Process: n.opts.Process, StartedMs: n.started.UnixMilli(), Version: n.opts.Version, SaidMs: n.opts.Now().UnixMilli()}
	if fatal := shared.Fatal(n.failed); fatal != nil {
		p.Role, p.Error, p.Code = Out, fatal.Error(), fatal.Code()
	}
	return p
}

// announce says how this node is, and listens to the others, until ctx ends. It calls end if another process has the name
// of this node.
func (n *Node) announce(ctx context.Context, end context.CancelCauseFunc) {
	for {
		if err := n.exchange(ctx); err != nil {
			end(err)
			return
		}
		if wait.For(ctx, saysEvery) != nil {
			return
		}
	}
}

// exchange returns an error if this node has to end.
func (n *Node) exchange(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	said, err := n.opts.Log.Announced(ctx)
	if err == nil {
		if err := n.hear(said); err != nil {
			return err
		}
		err = n.say(ctx, saidFor)
	}
	if err != nil && ctx.Err() == nil {
		n.opts.Logger.Debug("cannot exchange states with other nodes", "err", err)
	}
	return nil
}

// hear keeps what nodes say of themselves.
func (n *Node) hear(said map[string][]byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.peers, n.newest = peersIn(said), schemaIn(said)
	twin, earlier := n.peers[n.opts.Name], n.twin
	if twin.Process == "" || twin.Process == n.opts.Process {
		return nil
	}
	n.twin = twin
	if twin.Process != earlier.Process || twin.SaidMs == earlier.SaidMs {
		return nil // it may be the last that an ended process has said
	}
	if started := n.started.UnixMilli(); started > twin.StartedMs || started == twin.StartedMs && n.opts.Process > twin.Process {
		return &shared.NameTakenError{Node: n.opts.Name}
	}
	n.opts.Logger.Warn("another process has the name of this node; it ends by itself", "node", n.opts.Name, "address", twin.At.API)
	return nil
}

// say announces the node as it is; one announcement at a time, so that none overtakes a newer one.
func (n *Node) say(ctx context.Context, ttl time.Duration) error {
	n.saying.Lock()
	defer n.saying.Unlock()
	text, err := json.Marshal(n.self())
	if err != nil {
		return err
	}
	return n.opts.Log.Announce(ctx, n.opts.Name, text, ttl)
}

// leave says that this node has ended, and why, if only people can repair it.
func (n *Node) leave(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ttl := time.Second
	if shared.Fatal(err) != nil {
		ttl = outFor
	}
	n.mu.Lock()
	n.failed = err
	n.mu.Unlock()
	if err := n.say(ctx, ttl); err != nil {
		n.opts.Logger.Debug("cannot say that this node has ended", "err", err)
	}
}

// Peers returns what the nodes of a shared log say of themselves, by name. What cannot be read is left out.
func Peers(ctx context.Context, log shared.Log) (map[string]health.ClusterNode, error) {
	said, err := log.Announced(ctx)
	return peersIn(said), err
}

func peersIn(said map[string][]byte) map[string]health.ClusterNode {
	peers := map[string]health.ClusterNode{}
	for name, text := range said {
		var p health.ClusterNode
		if json.Unmarshal(text, &p) == nil && p.Node == name {
			peers[name] = p
		}
	}
	return peers
}

// Nodes whose program is older than one that has written would decide without what that has recorded, so they only
// follow. The newest schema that has written is announced in a name that no node has.
const (
	schemaName = "newest schema"
	schemaFor  = 365 * 24 * time.Hour
)

type saidSchema struct {
	Schema int64 `json:"schema"`
}

func schemaIn(said map[string][]byte) int64 {
	var s saidSchema
	_ = json.Unmarshal(said[schemaName], &s)
	return s.Schema
}

// leaveSchema announces the schema of a node that is about to write. The error is a *shared.OldError if a newer one has
// written.
func (n *Node) leaveSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	said, err := n.opts.Log.Announced(ctx)
	if err != nil {
		return err
	}
	if newest := schemaIn(said); newest > n.opts.Schema {
		n.mu.Lock()
		n.newest = newest
		n.mu.Unlock()
		return &shared.OldError{Own: n.opts.Schema, Newest: newest}
	}
	text, err := json.Marshal(saidSchema{n.opts.Schema})
	if err != nil {
		return err
	}
	return n.opts.Log.Announce(ctx, schemaName, text, schemaFor)
}

// State returns the state of the node. Of other nodes it is at most some seconds old.
func (n *Node) State() health.ClusterState {
	self := n.self()
	head, _ := n.opts.Store.SharedHead()
	n.mu.Lock()
	defer n.mu.Unlock()
	s := health.ClusterState{Node: self.Node, Role: self.Role, SinceMs: n.since.UnixMilli(), Writer: head.Node, Epoch: head.Epoch, Record: head.Number,
		Seq: head.Seq, Hash: self.Hash, Takeovers: n.takes, Nodes: []health.ClusterNode{self}}
	if n.shaky != nil {
		s.Error = n.shaky.Error()
	}
	for name := range n.peers {
		if p := n.peers[name]; name != n.opts.Name {
			s.Nodes = append(s.Nodes, p)
			s.Lag = max(s.Lag, p.Seq-head.Seq)
		}
	}
	slices.SortFunc(s.Nodes, func(a, b health.ClusterNode) int { return strings.Compare(a.Node, b.Node) })
	return s
}

// Role returns the role of the node.
func (n *Node) Role() Role {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.role
}

// HasWriter reports whether another node writes that is known.
func (n *Node) HasWriter() bool {
	_, known := n.writer()
	return known
}

// writer returns the node that opened the newest epoch, and whether it is another one that is known.
func (n *Node) writer() (health.ClusterNode, bool) {
	head, _ := n.opts.Store.SharedHead()
	n.mu.Lock()
	defer n.mu.Unlock()
	p, known := n.peers[head.Node]
	return p, known && head.Node != n.opts.Name && p.At.API != "" && p.Role != Out
}
