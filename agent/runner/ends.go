package runner

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/run"
)

// ends are runs that a transaction of the worker's is about to end. Whether it is stored, the Runner is not told: it looks.
type ends struct {
	mu       sync.Mutex
	expected map[string]bool
	looking  bool
}

// expect has the end of a run told once it is on disk. It is called within the transaction that ends it, and so does not wait.
func (r *Runner) expect(runID string) {
	r.ends.mu.Lock()
	defer r.ends.mu.Unlock()
	if r.ends.expected == nil {
		r.ends.expected = map[string]bool{}
	}
	r.ends.expected[runID] = true
	if !r.ends.looking {
		r.ends.looking = true
		go r.tellEnds()
	}
}

// tellEnds looks, with every commit, which of the expected ends are on disk, until all are or the log is closed.
func (r *Runner) tellEnds() {
	ctx := context.Background() // the log ends it
	for failures := 0; ; {
		head, err := r.o.Log.Head(ctx)
		if err == nil {
			var left bool
			if left, err = r.tellThose(ctx); !left && err == nil {
				return
			}
		}
		if err == nil {
			failures = 0
			_, err = r.o.Log.Wait(ctx, head.Seq+1)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, eventstore.ErrClosed) {
			r.ends.mu.Lock()
			r.ends.expected, r.ends.looking = nil, false
			r.ends.mu.Unlock()
			return
		}
		if failures++; failures == 1 {
			r.o.Logger.Warn("nobody is told which runs end for now", "err", err)
		}
		_ = pause(ctx, r.o.Backoff(failures)) // ctx does not end
	}
}

// expected is a run whose end is still to be told, or nil if somebody else has told it.
func (r *Runner) expected(result run.Result) *active {
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
	return &active{runner: r, result: result}
}

// tellThose tells the ends that are on disk. left is false when none is expected any more, and then somebody else has to look.
func (r *Runner) tellThose(ctx context.Context) (left bool, err error) {
	r.ends.mu.Lock()
	ids := make([]string, 0, len(r.ends.expected))
	for id := range r.ends.expected {
		ids = append(ids, id)
	}
	r.ends.mu.Unlock()
	var over []run.Result
	err = r.o.Log.View(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			result, found, err := projection.ByID(ctx, tx, id)
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
		if a := r.expected(result); a != nil {
			r.ended(a, result)
		}
	}
	r.ends.mu.Lock()
	defer r.ends.mu.Unlock()
	r.ends.looking = len(r.ends.expected) > 0
	return r.ends.looking, nil
}
