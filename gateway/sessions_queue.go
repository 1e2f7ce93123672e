package gateway

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// sessionQueue is a session's running and waiting work. It is shown only if there is any.
type sessionQueue struct {
	Depth    int   `json:"depth"` // waits for its turn
	Running  int   `json:"running"`
	OldestMs int64 `json:"oldestWaitMs"` // waiting time of the first in the queue
}

// isIdle reports whether nothing waits or runs in any session.
func (s *Server) isIdle(ctx context.Context, tx *sql.Tx) (bool, error) {
	if s.opts.Runs == nil {
		return true, nil
	}
	lanes, err := workqueue.Lanes(ctx, tx)
	for _, l := range lanes {
		if l.Waiting > 0 || l.Leased > 0 {
			return false, err
		}
	}
	return true, err
}

// queues returns running and waiting work by session key, without idle sessions.
func (s *Server) queues(ctx context.Context, tx *sql.Tx, keys []string) (map[string]*sessionQueue, error) {
	states, err := workqueue.Keys(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	now, all := s.opts.Now().UnixMilli(), map[string]*sessionQueue{}
	for key, state := range states {
		if state.Waiting == 0 && state.Leased == 0 {
			continue
		}
		one := &sessionQueue{Depth: state.Waiting, Running: state.Leased}
		if state.Waiting > 0 {
			one.OldestMs = max(0, now-state.Since)
		}
		all[key] = one
	}
	return all, nil
}
