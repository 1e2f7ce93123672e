// Package remoteworker does runs of a team on another machine than its server's: it asks models and calls tools, one step after the other,
// and reports what they answer. It has no log and decides nothing.
//
// It guarantees
//   - that a step is started once, and only while the server says that the run is with this worker;
//   - that what was done is reported until the server has taken it over, or says that the run is elsewhere;
//   - that a model's key and the files of the agents stay on this machine.
package remoteworker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Options of Run. All are required.
type Options struct {
	URL    string // of the gateway
	Token  config.Secret
	Worker remote.Registration
	Config *config.Config // of this machine
	Models *catalogue.Catalogue
	Prompt *prompt.Builder
	Tools  tool.Box // that work on this machine
	Logger *slog.Logger
	// Drain is how long runs may go on when Run is told to end, before they are given back.
	Drain time.Duration
}

// RefusedError is that the gateway does not let the worker in: trying again does not help.
type RefusedError struct {
	Err      error
	HintText string
}

func (e *RefusedError) Error() string { return "the gateway refuses this worker: " + e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }
func (e *RefusedError) Code() string  { return "worker_refused" }
func (e *RefusedError) Hint() string  { return e.HintText }

// retries are the pauses between attempts to reach the gateway.
var retries = backoff.Backoff{First: 200 * time.Millisecond, Most: 10 * time.Second}

// worker is a worker that runs.
type worker struct {
	opts Options
	runs sync.WaitGroup
	busy chan struct{} // a token per run

	mu       sync.Mutex
	conn     *client.Client
	dialing  sync.Mutex
	id       string // at the server; "": register
	lease    time.Duration
	refused  *RefusedError
	failures int
	has      map[string]bool // leases of runs that are under way, by id
}

// Run does runs until ctx ends, and reconnects whenever the connection is lost. It returns nil, or a *RefusedError.
func Run(ctx context.Context, o Options) error {
	w := &worker{opts: o, busy: make(chan struct{}, o.Worker.Slots), lease: 30 * time.Second, has: map[string]bool{}}
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // of runs that are under way
	defer stop()
	err := w.take(ctx, working)
	ended := make(chan struct{})
	go func() { w.runs.Wait(); close(ended) }()
	if err == nil {
		select {
		case <-ended:
		case <-time.After(o.Drain):
		}
	}
	w.leave(working)
	stop()
	<-ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Close()
	}
	return err
}

// take takes runs until ctx ends.
func (w *worker) take(ctx, working context.Context) error {
	for {
		select {
		case w.busy <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		l, err := w.ask(ctx)
		if err != nil || l == nil {
			<-w.busy
		}
		switch {
		case ctx.Err() != nil && l == nil:
			return nil
		case err != nil:
			return err
		case l != nil:
			w.hold(l, true)
			w.runs.Go(func() {
				defer func() { <-w.busy }()
				defer w.hold(l, false)
				w.perform(working, l)
			})
		}
	}
}

// ask asks for a run; nil is none yet.
func (w *worker) ask(ctx context.Context) (*remote.Lease, error) {
	id, err := w.registered(ctx)
	if err != nil {
		return nil, err
	}
	var answer remote.LeaseAnswer
	err = w.call(ctx, remote.MethodLease, remote.LeaseAsk{WorkerID: id, WaitMs: w.leaseTime().Milliseconds(), Has: w.leases()}, &answer)
	if codeOf(err) == remote.CodeUnknown {
		w.unregister(id)
		return nil, nil
	}
	return answer.Lease, err
}

// hold notes that a run is under way, or not any more.
func (w *worker) hold(l *remote.Lease, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.has, l.LeaseID); is {
		w.has[l.LeaseID] = true
	}
}

// leases are the leases of runs that are under way.
func (w *worker) leases() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.has))
}

func (w *worker) leaseTime() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lease
}

func (w *worker) unregister(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id == id {
		w.id = ""
	}
}

// registered returns the worker's id at the server.
func (w *worker) registered(ctx context.Context) (string, error) {
	w.mu.Lock()
	id := w.id
	w.mu.Unlock()
	if id != "" {
		return id, nil
	}
	var answer remote.Registered
	if err := w.call(ctx, remote.MethodRegister, w.opts.Worker, &answer); err != nil {
		if codeOf(err) != "" {
			return "", &RefusedError{err, hintOf(err)}
		}
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.lease = answer.WorkerID, time.Duration(answer.LeaseMs)*time.Millisecond
	w.opts.Logger.Info("waiting for runs", "gateway", w.opts.URL, "worker", w.opts.Worker.Name, "lease", w.lease)
	return w.id, nil
}

// leave gives back what is left, so that others need not wait for the end of the lease.
func (w *worker) leave(ctx context.Context) {
	w.mu.Lock()
	id, conn := w.id, w.conn
	w.mu.Unlock()
	if id == "" || conn == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	_, _ = conn.Call(ctx, remote.MethodLeave, remote.LeaseAsk{WorkerID: id}) // the lease ends anyway
}

// call calls a method, and again over a new connection while the old one is lost. Errors are *protocol.Error, *RefusedError, or ctx's.
func (w *worker) call(ctx context.Context, method string, params, into any) error {
	for {
		conn, err := w.connection(ctx)
		if err != nil {
			return err
		}
		payload, err := conn.Call(ctx, method, params)
		var refused *protocol.Error
		switch {
		case err == nil:
			return json.Unmarshal(payload, into)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && codeOf(err) != "":
			return err
		case errors.As(err, &refused) && refused.Code != protocol.CodeUnavailable:
			return &RefusedError{err, "use the same version of openclawd on both machines"}
		}
		if refused != nil {
			if err := wait.For(ctx, retries.After(3)); err != nil {
				return err
			}
		}
	}
}

// connection returns the open connection, or a new one. It tries until ctx ends, or the gateway refuses.
func (w *worker) connection(ctx context.Context) (*client.Client, error) {
	w.dialing.Lock()
	defer w.dialing.Unlock()
	for {
		w.mu.Lock()
		conn, refused := w.conn, w.refused
		w.mu.Unlock()
		if refused != nil {
			return nil, refused
		}
		if conn != nil {
			select {
			case <-conn.Done():
			default:
				return conn, nil
			}
		}
		next, err := client.Dial(ctx, w.opts.URL, client.Options{Token: w.opts.Token.Reveal(), ID: "openclaw-worker", Mode: "worker", Role: protocol.RoleWorker,
			Scopes: []string{}, DisplayName: w.opts.Worker.Name, Version: w.opts.Worker.Version})
		if err == nil {
			w.mu.Lock()
			w.conn, w.failures = next, 0
			w.mu.Unlock()
			return next, nil
		}
		var no *client.RefusedError
		if errors.As(err, &no) && (no.Reason == nil || !no.Reason.Retryable) {
			refused := &RefusedError{err, "give the gateway's gateway.auth.workerToken in OPENCLAW_WORKER_TOKEN or --token-file"}
			w.mu.Lock()
			w.refused = refused
			w.mu.Unlock()
			return nil, refused
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.failures++
		if w.failures == 1 {
			w.opts.Logger.Warn("cannot reach the gateway; will retry", "gateway", w.opts.URL, "err", err)
		}
		if err := wait.For(ctx, retries.After(w.failures)); err != nil {
			return nil, err
		}
	}
}

// codeOf is the code that the server gives to a refusal of a worker's request; "" for anything else.
func codeOf(err error) string { return detailOf(err).Code }

func hintOf(err error) string { return detailOf(err).Hint }

type detail struct {
	Code string `json:"code"`
	Hint string `json:"hint"`
}

func detailOf(err error) (d detail) {
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeInvalidRequest || refused.Details == nil {
		return d
	}
	if text, err := json.Marshal(refused.Details); err == nil {
		_ = json.Unmarshal(text, &d) // other details have no code
	}
	return d
}

// errOver is that a run is not with this worker any more.
var errOver = errors.New("the run is over, or not with this worker any more")

// describe is a run in log lines.
func describe(l *remote.Lease) []any {
	return []any{"run", l.RunID, "agent", l.AgentID, "session", l.SessionKey, "attempt", l.Attempt}
}
