package runner

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// pendingEnds are runs about to be ended by transactions of the worker, whose success is not reported to the Runner.
type pendingEnds struct {
	mu       sync.Mutex
	expected map[string]bool
	polling  bool
}

// expectEnd has the end of a run reported once it is on disk. It is called within the transaction and must not block.
func (r *Runs) expectEnd(runID string) {
	r.ends.mu.Lock()
	defer r.ends.mu.Unlock()
	if r.ends.expected == nil {
		r.ends.expected = map[string]bool{}
	}
	r.ends.expected[runID] = true
	if !r.ends.polling {
		r.ends.polling = true
		go r.reportEnds()
	}
}

// reportEnds checks on every commit which expected ends are on disk, until all are or the log is closed.
func (r *Runs) reportEnds() {
	ctx := context.Background() // closing the log ends it
	for failures := 0; ; {
		head, err := r.log.Head(ctx)
		if err == nil {
			var left bool
			if left, err = r.reportStoredEnds(ctx); !left && err == nil {
				return
			}
		}
		if err == nil {
			failures = 0
			_, err = r.log.Wait(ctx, head.Seq+1)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, eventstore.ErrClosed) {
			r.ends.mu.Lock()
			r.ends.expected, r.ends.polling = nil, false
			r.ends.mu.Unlock()
			return
		}
		if failures++; failures == 1 {
			r.logger.Warn("cannot read which runs have ended; will retry", "err", err)
		}
		_ = wait.For(ctx, r.backoff(failures)) // ctx does not end
	}
}

// expectedRun returns a run whose end is unreported, or nil if it has been reported.
func (r *Runs) expectedRun(result run.Result) *activeRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends.mu.Lock()
	defer r.ends.mu.Unlock()
	if !r.ends.expected[result.RunID] {
		return nil
	}
	delete(r.ends.expected, result.RunID)
	if a := r.runs[result.RunID]; a != nil {
		return a
	}
	return &activeRun{runner: r, result: result}
}

// reportStoredEnds reports the ends on disk. left is false when none is expected any more; a later one needs a new goroutine.
func (r *Runs) reportStoredEnds(ctx context.Context) (left bool, err error) {
	r.ends.mu.Lock()
	ids := make([]string, 0, len(r.ends.expected))
	for id := range r.ends.expected {
		ids = append(ids, id)
	}
	r.ends.mu.Unlock()
	var over []run.Result
	err = r.log.View(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			result, found, err := runs.ByID(ctx, tx, id)
			if err != nil {
				return err
			}
			if found && result.State.Over() {
				over = append(over, result)
			}
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	slices.SortFunc(over, func(a, b run.Result) int { return int(a.Seq - b.Seq) })
	for _, result := range over {
		if a := r.expectedRun(result); a != nil {
			r.reportEnd(a, result)
		}
	}
	r.ends.mu.Lock()
	defer r.ends.mu.Unlock()
	r.ends.polling = len(r.ends.expected) > 0
	return r.ends.polling, nil
}
