package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// maxAwaited is for how many answers of runs one connection may wait.
const maxAwaited = 16 << 10

// awaited is somebody who is answered when a run ends, after everybody was told. It holds no goroutine.
type awaited struct {
	teller *teller
	conn   string
	runID  string
	answer func(run.Result) // nil: not yet to be called
	end    *run.Result      // nil: not yet
	forget func() bool
}

// await begins to wait for the end of a run, until conn, which is the context of a connection, ends. It is called before the run is asked for,
// so that no end is missed. It is nil for a connection that waits for too many.
func (t *teller) await(conn context.Context, id, runID string) *awaited {
	a := &awaited{teller: t, conn: id, runID: runID}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[id] >= maxAwaited {
		return nil
	}
	t.waiting[id]++
	t.awaited[runID] = append(t.awaited[runID], a)
	a.forget = context.AfterFunc(conn, a.drop)
	return a
}

// then says what to do when the end has come. It is done once, at once if the end has come already.
func (a *awaited) then(answer func(run.Result)) {
	a.teller.mu.Lock()
	a.answer = answer
	end := a.end
	a.teller.mu.Unlock()
	if end != nil {
		answer(*end)
	}
}

// leave ends the waiting.
func (a *awaited) leave() {
	a.forget()
	a.drop()
}

func (a *awaited) drop() {
	t := a.teller
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.awaited[a.runID]
	rest := slices.DeleteFunc(all, func(other *awaited) bool { return other == a })
	if len(rest) == len(all) {
		return
	}
	t.releases(a)
	if t.awaited[a.runID] = rest; len(rest) == 0 {
		delete(t.awaited, a.runID)
	}
}

// releases is called with the lock held.
func (t *teller) releases(a *awaited) {
	if t.waiting[a.conn]--; t.waiting[a.conn] == 0 {
		delete(t.waiting, a.conn)
	}
}

// ended is for a run of whose end everybody was told.
func (t *teller) ended(r *run.Result) {
	t.mu.Lock()
	all := t.awaited[r.RunID]
	delete(t.awaited, r.RunID)
	answers := make([]func(run.Result), 0, len(all))
	for _, a := range all {
		t.releases(a)
		if a.end = r; a.answer != nil {
			answers = append(answers, a.answer)
		}
	}
	for s := range t.stops {
		s.heard[r.RunID] = struct{}{}
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

// stopping is somebody who stops runs, and wants everybody to have been told of their end before he goes on.
type stopping struct {
	teller *teller
	heard  map[string]struct{} // runs that have ended since; the teller's lock guards it
	news   chan struct{}       // holds one token while there is another one
}

func (t *teller) stopping() *stopping {
	s := &stopping{teller: t, heard: map[string]struct{}{}, news: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stops[s] = struct{}{}
	return s
}

func (s *stopping) leave() {
	s.teller.mu.Lock()
	defer s.teller.mu.Unlock()
	delete(s.teller.stops, s)
}

// patience is how long is waited for the telling of what has ended. It takes no time but that of those who tell.
const patience = 5 * time.Second

// wait waits until everybody was told of the end of some runs, as long as somebody tells.
func (s *stopping) wait(ctx context.Context, runIDs []string) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		s.teller.mu.Lock()
		told := !s.teller.following || !slices.ContainsFunc(runIDs, func(id string) bool {
			_, heard := s.heard[id]
			return !heard
		})
		s.teller.mu.Unlock()
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
