package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Paths of what operators may have a node do.
const (
	StepDownPath = "/api/cluster/step-down"
	PromotePath  = "/api/cluster/promote"
)

// StepDown has the writer end its services, and then give the lease to the node that is to be promoted, or back. It
// returns once it does not write any more; the error is a *NotWriterError on other nodes.
func (n *Node) StepDown(ctx context.Context) error {
	if role := n.Role(); role != Writer {
		head, _ := n.opts.Store.SharedHead()
		return &NotWriterError{Node: n.opts.Name, Writer: head.Node}
	}
	select {
	case n.yield <- struct{}{}:
	default: // it was asked already
	}
	return n.until(ctx, func(r Role) bool { return r != Writer })
}

// Promote has this node become the writer: the one that is steps down first, or has not to be asked if it cannot be
// reached and force is set. It returns when nothing is left that could refuse it; State tells when it is done. The error
// says what prevents it.
func (n *Node) Promote(ctx context.Context, force bool) error {
	if n.opts.Reader {
		return &ReaderError{Node: n.opts.Name}
	}
	if n.Role() == Writer {
		return nil
	}
	n.stand()
	if err := n.say(ctx, saidFor); err != nil {
		return &UnyieldingError{Writer: "that holds the lease", Err: err}
	}
	if p, known := n.writer(); known {
		err := n.askToYield(ctx, &p)
		if err != nil && !force {
			return &UnyieldingError{Writer: p.Node, Err: err}
		}
		if err != nil {
			n.opts.Logger.Warn("the writer cannot be asked to step down: its lease is ended", "writer", p.Node, "err", err)
			n.revoke(ctx, p.Node)
		}
	}
	n.wake()
	return nil
}

// stand makes this node the one to be promoted, for as long as a writer may take to step down.
func (n *Node) stand() {
	n.mu.Lock()
	defer n.mu.Unlock()
	const drain = 15 * time.Second
	n.rest, n.stands = time.Time{}, n.opts.Now().Add(n.opts.Lease+drain)
}

// looksEvery is how often the role is compared with a wanted one.
const looksEvery = 20 * time.Millisecond

func (n *Node) until(ctx context.Context, is func(Role) bool) error {
	for !is(n.Role()) {
		if err := wait.For(ctx, looksEvery); err != nil {
			return &SlowError{Node: n.opts.Name, Role: n.Role()}
		}
	}
	return nil
}

func (n *Node) askToYield(ctx context.Context, p *health.ClusterNode) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.At.API+StepDownPath, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set(headerToken, n.opts.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	const most = 1 << 10
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	return errors.Join(fmt.Errorf("%s: %s", answer.Status, text), err)
}

// NotWriterError is returned by a node that was asked to step down and does not write.
type NotWriterError struct{ Node, Writer string }

func (e *NotWriterError) Error() string {
	if e.Writer == "" || e.Writer == e.Node {
		return fmt.Sprintf("node %s does not write now", e.Node)
	}
	return fmt.Sprintf("node %s does not write, node %s does", e.Node, e.Writer)
}

// Code implements eventstore.Coded.
func (e *NotWriterError) Code() string { return "not_writer" }

// Hint implements eventstore.Coded.
func (e *NotWriterError) Hint() string { return "ask the node that writes: openclawd cluster status" }

// ReaderError is returned by a node that never writes.
type ReaderError struct{ Node string }

func (e *ReaderError) Error() string { return fmt.Sprintf("node %s only reads", e.Node) }

// Code implements eventstore.Coded.
func (e *ReaderError) Code() string { return "reader" }

// Hint implements eventstore.Coded.
func (e *ReaderError) Hint() string { return `set cluster.role to "auto" and restart it` }

// UnyieldingError is returned when the writer did not step down.
type UnyieldingError struct {
	Writer string
	Err    error
}

func (e *UnyieldingError) Error() string {
	return fmt.Sprintf("node %s did not step down: %v", e.Writer, e.Err)
}
func (e *UnyieldingError) Unwrap() error { return e.Err }

// Code implements eventstore.Coded.
func (e *UnyieldingError) Code() string { return "writer_stays" }

// Hint implements eventstore.Coded.
func (e *UnyieldingError) Hint() string {
	return "with --force its lease is ended without it; the shared log refuses what it appends afterwards"
}

// SlowError is returned when a node did not get another role in time.
type SlowError struct {
	Node string
	Role Role
}

func (e *SlowError) Error() string { return fmt.Sprintf("node %s is still %s", e.Node, e.Role) }

// Code implements eventstore.Coded.
func (e *SlowError) Code() string { return "role_unchanged" }

// Hint implements eventstore.Coded.
func (e *SlowError) Hint() string {
	return "openclawd cluster status shows what the nodes do; it may still happen"
}
