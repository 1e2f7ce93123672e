package messenger

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Resumed counts what Resume found.
type Resumed struct {
	Open      int // open flows
	Resumed   int // flows that continue
	Abandoned int // flows that failed, or ended because their cause had
}

// resumeBatch is the number of flows resumed in one transaction.
const resumeBatch = 100

// Resume resumes all open flows when the program starts, before a worker runs.
func (s *Service) Resume(ctx context.Context) (sum Resumed, err error) {
	var open []flows.Row
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = flows.List(ctx, tx, flows.Query{Open: true})
		return err
	})
	if err != nil {
		return sum, err
	}
	sum.Open = len(open)
	for at := len(open) - 1; at >= 0; { // oldest first
		var batch Resumed
		var left int
		now := s.o.Now()
		_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
			batch, left = Resumed{}, at // may be called again
			stopped := map[string]bool{}
			for ; left >= 0 && at-left < resumeBatch; left-- {
				ended, err := startedByEnded(tx, &open[left], stopped)
				if err != nil {
					return nil, err
				}
				if open[left].Phase == a2a.Dispatching && !ended {
					continue // also if the end of another flow has dispatched it meanwhile
				}
				f, found, err := flows.Load(tx, open[left].JobID)
				if err != nil {
					return nil, err
				}
				if !found {
					continue
				}
				step := a2a.Resume(f, now.UnixMilli())
				if ended {
					step = a2a.Stop(f, "restart", "what it is for was stopped", now.UnixMilli())
				}
				if step.Nothing() {
					continue
				}
				apart := step.Over && a2a.Kind(f.Kind) == a2a.Spawn // the notice has to see the appends of this batch
				if apart && len(appends) > 0 {
					break
				}
				perform := s.performStep // free permits are given away at the end
				if apart {
					perform = s.performed
				}
				done, err := perform(tx, f, step, now)
				if err != nil {
					return nil, err
				}
				s.stopLater(f, &done.step)
				appends = append(appends, done.appends...)
				if step.Over {
					stopped[f.JobID] = ended
					batch.Abandoned++
				} else {
					batch.Resumed++
				}
				if apart {
					left--
					break
				}
			}
			return appends, nil
		})
		if err != nil {
			return sum, err
		}
		at = left
		sum.Resumed += batch.Resumed
		sum.Abandoned += batch.Abandoned
	}
	return sum, s.fillUp(ctx, open)
}

// startedByEnded reports whether a flow was started by a run of a flow that was stopped with its descendants: the program may have ended in
// the middle of that. stopped are the flows that this transaction stops.
func startedByEnded(tx eventstore.Tx, row *flows.Row, stopped map[string]bool) (bool, error) {
	if row.RequesterRunID == "" {
		return false, nil
	}
	by, _, err := runs.Load(tx, row.RequesterRunID)
	if err != nil || by.JobID == "" || stopped[by.JobID] {
		return stopped[by.JobID], err
	}
	_, outcome, err := flows.End(tx, by.JobID)
	return outcome == coordination.OutcomeValueCancelled || outcome == coordination.OutcomeValueKilled, err
}

// fillUp gives permits to waiting flows if their number was raised.
func (s *Service) fillUp(ctx context.Context, open []flows.Row) error {
	targets := map[string]bool{}
	for i := range open {
		if open[i].Phase == a2a.Dispatching {
			targets[open[i].ToAgent] = true
		}
	}
	for target := range targets {
		for more := true; more; {
			now := s.o.Now()
			_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
				active, waiting, err := flows.Permits(tx, target)
				if err == nil && waiting > 0 {
					appends, err = s.handOver(tx, target, active, nil, now)
				}
				more = len(appends) > 0 // others behind it may have room then
				return appends, err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
