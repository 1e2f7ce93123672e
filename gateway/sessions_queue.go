package gateway

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/projections/work"
)

// sessionQueue is what waits and runs in a session. It is shown only where there is anything.
type sessionQueue struct {
	Depth    int   `json:"depth"` // waits for its turn
	Running  int   `json:"running"`
	OldestMs int64 `json:"oldestWaitMs"` // how long the first that waits has waited
}

// isIdle reports whether nothing waits or runs anywhere, so that no session has to be asked.
func (s *Server) isIdle(ctx context.Context, tx *sql.Tx) (bool, error) {
	if s.opts.Runs == nil {
		return true, nil
	}
	lanes, err := work.Lanes(ctx, tx)
	for _, l := range lanes {
		if l.Waiting > 0 || l.Leased > 0 {
			return false, err
		}
	}
	return true, err
}

// queues are what waits and runs in sessions, by their keys; those in which nothing does are left out.
func (s *Server) queues(ctx context.Context, tx *sql.Tx, keys []string) (map[string]*sessionQueue, error) {
	states, err := work.Keys(ctx, tx, keys)
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
