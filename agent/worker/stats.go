package worker

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/projections/work"
)

// Stats is how the queue and its worker stand.
type Stats struct {
	Pools   map[string]Pool
	Unknown []string // kinds that were met and that nobody does here

	Stuck  int64 // Dos that have not returned although their time is over
	Claims int64 // items begun since the start
	Done   int64 // of those, how many ended or were given back by their handler without an error
	Failed int64 // how many were not, or would not begin
}

// Pool is how one pool stands.
type Pool struct {
	Capacity              int
	Waiting, Leased, Dead int
	OldestMs              int64 // how long the first that waits has waited
}

// Stats reads how everything stands. Where the log cannot be read the pools are those of the configuration only.
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
	var lanes []work.Lane
	err := w.opts.Log.View(context.Background(), func(tx *sql.Tx) (err error) {
		lanes, err = work.Lanes(context.Background(), tx)
		return err
	})
	if err != nil {
		w.opts.Logger.Warn("the queue of work cannot be read", "err", err)
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
