package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// PulsePath is where a writer answers for as long as it is that.
const PulsePath = "/api/cluster/pulse"

// Headers between nodes.
const (
	headerToken  = "X-Openclawd-Node-Token" // the cluster's
	headerPassed = "X-Openclawd-Passed"     // nodes that have passed a request on
	headerNode   = "X-Openclawd-Node"       // who answers
)

// shows reports whether a request has the token of the cluster.
func (n *Node) shows(r *http.Request) bool {
	shown, want := sha256.Sum256([]byte(r.Header.Get(headerToken))), sha256.Sum256([]byte(n.opts.Token))
	return n.opts.Token != "" && subtle.ConstantTimeCompare(shown[:], want[:]) == 1
}

const (
	// beat is how often a pulse is sent.
	beat = time.Second
	// silence is how long a pulse may be missed before the connection is given up.
	silence = 3 * beat
)

// Pulse answers other nodes until they leave, until ends, or until this node is not the writer any more. IsPeer is for
// the caller to ask.
func (n *Node) Pulse(ends context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Role() != Writer {
			Refuse(w, http.StatusConflict, "no_writer", "this node does not write", "ask again")
			return
		}
		answer := http.NewResponseController(w)
		_ = answer.SetWriteDeadline(time.Time{}) // it lasts
		w.Header().Set(headerNode, n.opts.Name)
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		defer context.AfterFunc(ends, stop)()
		for n.Role() == Writer {
			if _, err := io.WriteString(w, "\n"); err != nil || answer.Flush() != nil || wait.For(ctx, beat) != nil {
				return
			}
		}
	})
}

// watchWriter holds a connection to the writer, until ctx ends. If it breaks and the writer's machine says that nothing
// listens there any more, the writer's process is gone: then no node need wait for the end of its lease. A writer that was
// never reached is not judged.
func (n *Node) watchWriter(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, ResponseHeaderTimeout: 2 * time.Second}}
	defer client.CloseIdleConnections()
	felt := "" // node whose pulse was felt last, and has not come back since
	for ctx.Err() == nil {
		p, known := n.writer()
		switch {
		case !known:
			felt = ""
		case n.feel(ctx, client, &p):
			felt = p.Node
		case felt == p.Node && ctx.Err() == nil && gone(ctx, p.At.API): // its listener may end a little later than its connections
			n.opts.Logger.Warn("the process of the writer is gone: its lease is ended", "writer", p.Node)
			n.revoke(ctx, p.Node)
			felt = ""
		}
		pause := triesEvery
		if felt != "" {
			pause = looksEvery
		}
		_ = wait.For(ctx, pause)
	}
}

// feel returns when the pulse of the writer ends, or is not felt for some time. felt says that there was one.
func (n *Node) feel(ctx context.Context, client *http.Client, p *health.ClusterNode) (felt bool) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.At.API+PulsePath, http.NoBody)
	if err != nil {
		return false
	}
	r.Header.Set(headerToken, n.opts.Token)
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get(headerNode) != p.Node {
		return false
	}
	silent := time.AfterFunc(silence, leave)
	defer silent.Stop()
	for beats := make([]byte, 64); ; silent.Reset(silence) {
		if _, err := answer.Body.Read(beats); err != nil {
			return true
		}
	}
}

// gone reports whether a machine refuses connections to an address, which it does only while nothing listens there.
func gone(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for range 3 {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
		if err == nil {
			_ = conn.Close()
			return false
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || wait.For(ctx, 10*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

func (n *Node) revoke(ctx context.Context, node string) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := n.opts.Log.Revoke(ctx, node); err != nil {
		n.opts.Logger.Warn("the lease of a node that is gone cannot be ended; it ends by itself", "node", node, "err", err)
	}
	n.wake()
}
