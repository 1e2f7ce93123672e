package discord

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// pace is a rate limit: how many requests may start within a period.
type pace struct {
	most   int
	within time.Duration
}

// lanes serialize requests in order, within their pace and Discord's rate limits.
type lanes struct {
	now       func() time.Time
	afterFunc func(time.Duration, func()) Timer
	waiting   int // maximum queue length per lane

	mu    sync.Mutex
	lanes map[string]*lane
	holds map[string]time.Time // by account, and by account and lane: until when Discord accepts nothing
}

// lane is one queue. Its holder may make a request.
type lane struct {
	held   bool
	queue  []chan struct{}
	starts []time.Time // within the pace's period
	within time.Duration
}

// maxIdleLanes is how many unused lanes are kept.
const maxIdleLanes = 1000

func newLanes(o Options) *lanes {
	return &lanes{now: o.Now, afterFunc: o.AfterFunc, waiting: o.Queue, lanes: map[string]*lane{}, holds: map[string]time.Time{}}
}

// heldError means that Discord requires a longer delay than callers wait.
type heldError struct{ wait time.Duration }

func (e *heldError) Error() string { return "discord rate limit: wait " + e.wait.String() }

// enter waits for its turn; leave has to be called afterwards. The error is ErrFull, a *heldError, or the context's.
func (l *lanes) enter(ctx context.Context, name, account string, p pace) (leave func(), err error) {
	own, err := l.acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	leave = func() { l.leave(own) }
	for {
		wait, held := l.start(own, name, account, p)
		switch {
		case wait <= 0:
			return leave, nil
		case held && wait > collaborate.LongestWait:
			leave()
			return nil, &heldError{wait}
		}
		if err := rest(ctx, l.afterFunc, wait); err != nil {
			leave()
			return nil, err
		}
	}
}

// acquire returns a lane, creating it if needed.
func (l *lanes) acquire(ctx context.Context, name string) (*lane, error) {
	l.mu.Lock()
	own := l.lanes[name]
	if own == nil {
		l.tidy()
		own = &lane{}
		l.lanes[name] = own
	}
	if !own.held {
		own.held = true
		l.mu.Unlock()
		return own, nil
	}
	if len(own.queue) >= l.waiting {
		l.mu.Unlock()
		return nil, ErrFull
	}
	turn := make(chan struct{})
	own.queue = append(own.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return own, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(own.queue, turn)
	if i >= 0 {
		own.queue = slices.Delete(own.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // it was given the turn meanwhile
		l.leave(own)
	}
	return nil, ctx.Err()
}

func (l *lanes) leave(own *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(own.queue) == 0 {
		own.held = false
		return
	}
	close(own.queue[0])
	own.queue = own.queue[1:]
}

// start counts the request and returns 0, or returns how long it still has to wait and whether Discord requires it.
func (l *lanes) start(own *lane, name, account string, p pace) (wait time.Duration, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, key := range []string{account, account + " " + name} {
		if until, is := l.holds[key]; is {
			if wait := until.Sub(now); wait > 0 {
				return wait, true
			}
			delete(l.holds, key)
		}
	}
	own.within = p.within
	own.starts = slices.DeleteFunc(own.starts, func(at time.Time) bool { return now.Sub(at) >= p.within })
	if p.most > 0 && len(own.starts) >= p.most {
		return own.starts[len(own.starts)-p.most].Add(p.within).Sub(now), false
	}
	own.starts = append(own.starts, now)
	return 0, false
}

// applyRateLimit applies the rate-limit headers of an answer.
func (l *lanes) applyRateLimit(name, account string, a answer) {
	wait, global := time.Duration(0), a.header.Get("X-RateLimit-Global") != ""
	switch {
	case a.status == http.StatusTooManyRequests:
		wait = retryAfter(a.header, header(a.header, "X-RateLimit-Reset-After"))
	case a.header.Get("X-RateLimit-Remaining") == "0":
		wait = seconds(header(a.header, "X-RateLimit-Reset-After"))
	}
	if wait <= 0 {
		return
	}
	key := account + " " + name
	if global {
		key = account
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.now().Add(wait); until.After(l.holds[key]) {
		l.holds[key] = until
	}
}

func header(h http.Header, name string) float64 {
	n, err := strconv.ParseFloat(h.Get(name), 64)
	if err != nil {
		return 0
	}
	return n
}

// tidy drops unused lanes if there are many. The lock is held.
func (l *lanes) tidy() {
	if len(l.lanes) < maxIdleLanes {
		return
	}
	now := l.now()
	for name, own := range l.lanes {
		if !own.held && (len(own.starts) == 0 || now.Sub(own.starts[len(own.starts)-1]) >= own.within) {
			delete(l.lanes, name)
		}
	}
	for key, until := range l.holds {
		if !until.After(now) {
			delete(l.holds, key)
		}
	}
}

// rest waits; it returns the context's error if that ends first.
func rest(ctx context.Context, afterFunc func(time.Duration, func()) Timer, d time.Duration) error {
	over := make(chan struct{})
	timer := afterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
