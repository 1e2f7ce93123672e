package runner

import (
	"context"
	"database/sql"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Get returns a run's current state; found is false for an unknown run.
func (r *Runs) Get(ctx context.Context, runID string) (result run.Result, found bool, err error) {
	err = r.log.View(ctx, func(tx *sql.Tx) (err error) {
		result, found, err = runs.ByID(ctx, tx, runID)
		return err
	})
	return result, found, err
}

// Wait returns a run once it is over, or its current state with ctx's error. It waits for an unknown run too. Waiters share a table entry.
func (r *Runs) Wait(ctx context.Context, runID string) (run.Result, error) {
	w := r.waits.join(runID) // before checking, or an end in between would be missed
	defer r.waits.leave(runID, w)
	now := context.WithoutCancel(ctx) // the state is returned even without time to wait
	result, _, err := r.Get(now, runID)
	if err != nil || isOver(result) {
		return result, err
	}
	select {
	case <-w.done:
		return w.result, nil
	case <-ctx.Done():
	}
	if result, _, err = r.Get(now, runID); err != nil || isOver(result) {
		return result, err
	}
	return result, ctx.Err()
}

// isOver reports whether a run is known and over.
func isOver(result run.Result) bool { return result.RunID != "" && result.State.Over() }

// waiters are the runs waited for.
type waiters struct {
	mu  sync.Mutex
	all map[string]*waiter
	n   int // callers
}

type waiter struct {
	callers int
	done    chan struct{} // closed when over; result is set before
	result  run.Result
}

func (w *waiters) join(runID string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[runID]
	if one == nil {
		if w.all == nil {
			w.all = map[string]*waiter{}
		}
		one = &waiter{done: make(chan struct{})}
		w.all[runID] = one
	}
	one.callers++
	w.n++
	return one
}

func (w *waiters) leave(runID string, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	if one.callers--; one.callers == 0 && w.all[runID] == one {
		delete(w.all, runID)
	}
}

// end wakes all waiters of a run.
func (w *waiters) end(result run.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[result.RunID]
	if one == nil {
		return
	}
	delete(w.all, result.RunID)
	one.result = result
	close(one.done)
}

func (w *waiters) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}
