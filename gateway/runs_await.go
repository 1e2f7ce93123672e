package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

const maxAwaited = 16 << 10

// pendingReply waits for the end of a run, after its broadcast. It holds no goroutine.
type pendingReply struct {
	notifier *runNotifier
	conn     string
	runID    string
	answer   func(run.Result) // nil: not set yet
	end      *run.Result      // nil: not ended yet
	forget   func() bool
}

// await registers a waiter for the end of a run, until conn, a connection's context, ends. It is called before the run
// is queued, so that no end is missed. It returns nil if the connection waits for too many runs.
func (t *runNotifier) await(conn context.Context, id, runID string) *pendingReply {
	a := &pendingReply{notifier: t, conn: id, runID: runID}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[id] >= maxAwaited {
		return nil
	}
	t.waiting[id]++
	t.pending[runID] = append(t.pending[runID], a)
	a.forget = context.AfterFunc(conn, a.drop)
	return a
}

// then sets what to do at the end of the run. It is called once, at once if the run has ended already.
func (a *pendingReply) then(answer func(run.Result)) {
	a.notifier.mu.Lock()
	a.answer = answer
	end := a.end
	a.notifier.mu.Unlock()
	if end != nil {
		answer(*end)
	}
}

func (a *pendingReply) leave() {
	a.forget()
	a.drop()
}

func (a *pendingReply) drop() {
	t := a.notifier
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.pending[a.runID]
	rest := slices.DeleteFunc(all, func(other *pendingReply) bool { return other == a })
	if len(rest) == len(all) {
		return
	}
	t.releases(a)
	if t.pending[a.runID] = rest; len(rest) == 0 {
		delete(t.pending, a.runID)
	}
}

// releases is called with the lock held.
func (t *runNotifier) releases(a *pendingReply) {
	if t.waiting[a.conn]--; t.waiting[a.conn] == 0 {
		delete(t.waiting, a.conn)
	}
}

func (t *runNotifier) markEnded(r *run.Result) {
	t.mu.Lock()
	all := t.pending[r.RunID]
	delete(t.pending, r.RunID)
	answers := make([]func(run.Result), 0, len(all))
	for _, a := range all {
		t.releases(a)
		if a.end = r; a.answer != nil {
			answers = append(answers, a.answer)
		}
	}
	for s := range t.stops {
		s.ended[r.RunID] = struct{}{}
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
	t.mu.Unlock()
	for _, a := range all {
		a.forget()
	}
	for _, answer := range answers {
		answer(*r)
	}
}

// stopRequest is a request that stops runs and waits until their end is broadcast.
type stopRequest struct {
	notifier *runNotifier
	ended    map[string]struct{} // runs ended since; guarded by the notifier's lock
	news     chan struct{}       // holds one token when a run was added
}

func (t *runNotifier) newStopRequest() *stopRequest {
	s := &stopRequest{notifier: t, ended: map[string]struct{}{}, news: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stops[s] = struct{}{}
	return s
}

func (s *stopRequest) leave() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	delete(s.notifier.stops, s)
}

// patience is how long to wait for a broadcast. Only the broadcasts themselves take time.
const patience = 5 * time.Second

// wait waits until the end of some runs is broadcast, as long as broadcasts continue.
func (s *stopRequest) wait(ctx context.Context, runIDs []string) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		s.notifier.mu.Lock()
		told := !s.notifier.following || !slices.ContainsFunc(runIDs, func(id string) bool {
			_, heard := s.ended[id]
			return !heard
		})
		s.notifier.mu.Unlock()
		if told {
			return
		}
		select {
		case <-s.news:
		case <-ctx.Done():
			return
		}
	}
}
