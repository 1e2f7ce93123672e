package channel

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Pace is a rate limit: how many requests may start within a period.
type Pace struct {
	Most   int
	Within time.Duration
}

// Lanes serialize requests in order, within their pace and the service's rate limits.
type Lanes struct {
	now       func() time.Time
	afterFunc func(time.Duration, func()) Timer
	waiting   int    // maximum queue length per lane
	service   string // for errors

	mu    sync.Mutex
	lanes map[string]*lane
	holds map[string]time.Time // by account, and by account and lane: until when the service accepts nothing
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

// NewLanes returns Lanes without requests for a service. o has its defaults.
func NewLanes(service string, o Options) *Lanes {
	return &Lanes{service: service, now: o.Now, afterFunc: o.AfterFunc, waiting: o.Queue, lanes: map[string]*lane{}, holds: map[string]time.Time{}}
}

// HeldError means that the service requires a longer delay than callers wait.
type HeldError struct {
	Service string
	Wait    time.Duration
}

func (e *HeldError) Error() string { return e.Service + " rate limit: wait " + e.Wait.String() }

// Enter waits for its turn; leave has to be called afterwards. The error is ErrFull, a *HeldError, or the context's.
func (l *Lanes) Enter(ctx context.Context, name, account string, p Pace) (leave func(), err error) {
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
			return nil, &HeldError{l.service, wait}
		}
		if err := Rest(ctx, l.afterFunc, wait); err != nil {
			leave()
			return nil, err
		}
	}
}

// acquire returns a lane, creating it if needed.
func (l *Lanes) acquire(ctx context.Context, name string) (*lane, error) {
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

func (l *Lanes) leave(own *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(own.queue) == 0 {
		own.held = false
		return
	}
	close(own.queue[0])
	own.queue = own.queue[1:]
}

// start counts the request and returns 0, or returns how long it still has to wait and whether the service requires it.
func (l *Lanes) start(own *lane, name, account string, p Pace) (wait time.Duration, held bool) {
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
	own.within = p.Within
	own.starts = slices.DeleteFunc(own.starts, func(at time.Time) bool { return now.Sub(at) >= p.Within })
	if p.Most > 0 && len(own.starts) >= p.Most {
		return own.starts[len(own.starts)-p.Most].Add(p.Within).Sub(now), false
	}
	own.starts = append(own.starts, now)
	return 0, false
}

// Hold lets the account start no request in a lane for a while, or in no lane at all if name is "".
func (l *Lanes) Hold(name, account string, wait time.Duration) {
	if wait <= 0 {
		return
	}
	key := account
	if name != "" {
		key += " " + name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.now().Add(wait); until.After(l.holds[key]) {
		l.holds[key] = until
	}
}

// Waiting is how many requests wait for their turn in a lane.
func (l *Lanes) Waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.lanes[name]; own != nil {
		return len(own.queue)
	}
	return 0
}

// tidy drops unused lanes if there are many. The lock is held.
func (l *Lanes) tidy() {
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

// Rest waits; it returns the context's error if that ends first.
func Rest(ctx context.Context, afterFunc func(time.Duration, func()) Timer, d time.Duration) error {
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
