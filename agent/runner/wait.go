package runner

import (
	"context"
	"database/sql"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/run"
	projection "github.com/pronto-lab/openclawd/projections/run"
)

// Look is that of gateway.Runs.
func (r *Runner) Look(ctx context.Context, runID string) (result run.Result, found bool, err error) {
	err = r.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		result, found, err = projection.ByID(ctx, tx, runID)
		return err
	})
	return result, found, err
}

// Wait is that of gateway.Runs. It costs an entry in a table; however many wait for a run, it is one.
func (r *Runner) Wait(ctx context.Context, runID string) (run.Result, error) {
	w := r.waits.join(runID) // before looking, or an end between the two would be missed
	defer r.waits.leave(runID, w)
	now := context.WithoutCancel(ctx) // the state is wanted even if there is no time to wait
	result, _, err := r.Look(now, runID)
	if err != nil || isOver(result) {
		return result, err
	}
	select {
	case <-w.done:
		return w.result, nil
	case <-ctx.Done():
	}
	if result, _, err = r.Look(now, runID); err != nil || isOver(result) {
		return result, err
	}
	return result, ctx.Err()
}

// isOver reports whether a run is known, and over.
func isOver(result run.Result) bool { return result.RunID != "" && result.State.Over() }

// waits are the runs that are waited for.
type waits struct {
	mu  sync.Mutex
	all map[string]*waiting
	n   int // callers
}

type waiting struct {
	callers int
	done    chan struct{} // closed when it is over; result is set before
	result  run.Result
}

func (w *waits) join(runID string) *waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[runID]
	if one == nil {
		if w.all == nil {
			w.all = map[string]*waiting{}
		}
		one = &waiting{done: make(chan struct{})}
		w.all[runID] = one
	}
	one.callers++
	w.n++
	return one
}

func (w *waits) leave(runID string, one *waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	if one.callers--; one.callers == 0 && w.all[runID] == one {
		delete(w.all, runID)
	}
}

// end lets all go on that wait for a run.
func (w *waits) end(result run.Result) {
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

func (w *waits) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}
