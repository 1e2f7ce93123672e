package worker

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Stats is the state of the queue and its worker.
type Stats struct {
	Pools   map[string]Pool
	Unknown []string // kinds found without a handler

	Stuck  int64 // Dos running past their time
	Claims int64 // items started
	Done   int64 // started items ended or released by their handler without an error
	Failed int64 // others, and items that failed to start
}

// Pool is the state of one pool.
type Pool struct {
	Capacity              int
	Waiting, Leased, Dead int
	OldestMs              int64 // waiting time of the first in the queue
}

// Stats reads the current state. If the log cannot be read, the pools are only those of the configuration.
func (w *Worker) Stats() Stats {
	s := Stats{Pools: map[string]Pool{}, Stuck: w.stuck.Load(), Claims: w.claims.Load(), Done: w.done.Load(), Failed: w.failed.Load()}
	w.unknown.Range(func(kind, _ any) bool {
		s.Unknown = append(s.Unknown, kind.(string))
		return true
	})
	slices.Sort(s.Unknown)
	for name, capacity := range w.opts.Pools() {
		s.Pools[name] = Pool{Capacity: capacity}
	}
	var lanes []workqueue.Lane
	err := w.opts.Log.View(context.Background(), func(tx *sql.Tx) (err error) {
		lanes, err = workqueue.Lanes(context.Background(), tx)
		return err
	})
	if err != nil {
		w.opts.Logger.Warn("cannot read the work queue", "err", err)
		return s
	}
	now := w.opts.Now().UnixMilli()
	for _, l := range lanes {
		p := s.Pools[l.Pool]
		p.Waiting, p.Leased, p.Dead = p.Waiting+l.Waiting, p.Leased+l.Leased, p.Dead+l.Dead
		if l.Waiting > 0 {
			p.OldestMs = max(p.OldestMs, now-l.Since)
		}
		s.Pools[l.Pool] = p
	}
	return s
}
