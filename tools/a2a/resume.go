package a2a

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	projected "github.com/pronto-lab/openclawd/projections/run"
)

// Resumed is what Resume found.
type Resumed struct {
	Open      int // flows that were not over
	Resumed   int // that go on
	Abandoned int // that were given up, or ended since what they are for was
}

// resumeBatch is how many flows are looked after in one transaction.
const resumeBatch = 100

// Resume looks after all open flows when the program starts, before a worker runs.
func (c *Coordinator) Resume(ctx context.Context) (sum Resumed, err error) {
	var open []projection.Row
	err = c.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		open, err = projection.List(ctx, tx, projection.Query{Open: true})
		return err
	})
	if err != nil {
		return sum, err
	}
	sum.Open = len(open)
	for at := len(open) - 1; at >= 0; { // the oldest first
		var batch Resumed
		var left int
		now := c.o.Now()
		_, err := c.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
			batch, left = Resumed{}, at // it may be called again
			stopped := map[string]bool{}
			for ; left >= 0 && at-left < resumeBatch; left-- {
				ended, err := begunByEnded(tx, &open[left], stopped)
				if err != nil {
					return nil, err
				}
				if open[left].Phase == decide.Dispatching && !ended {
					continue // also if the end of another one has dispatched it meanwhile
				}
				f, found, err := projection.Load(tx, open[left].JobID)
				if err != nil {
					return nil, err
				}
				if !found {
					continue
				}
				s := decide.Resume(f, now.UnixMilli())
				if ended {
					s = decide.Stop(f, "restart", "what it is for was stopped", now.UnixMilli())
				}
				if s.Nothing() {
					continue
				}
				apart := s.Over && decide.Kind(f.Kind) == decide.Spawn // who is told has to see what is here
				if apart && len(appends) > 0 {
					break
				}
				perform := c.performStep // a permit that becomes free is given away in the end
				if apart {
					perform = c.performed
				}
				done, err := perform(tx, f, s, now)
				if err != nil {
					return nil, err
				}
				c.stopLater(f, &done.step)
				appends = append(appends, done.appends...)
				if s.Over {
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
	return sum, c.fillUp(ctx, open)
}

// begunByEnded reports whether a flow was begun by a run of one that somebody has ended with all that comes from it: the program may have ended
// in the middle of that. stopped are those that this transaction ends so.
func begunByEnded(tx eventstore.Tx, row *projection.Row, stopped map[string]bool) (bool, error) {
	if row.RequesterRunID == "" {
		return false, nil
	}
	by, _, err := projected.Load(tx, row.RequesterRunID)
	if err != nil || by.JobID == "" || stopped[by.JobID] {
		return stopped[by.JobID], err
	}
	_, outcome, err := projection.End(tx, by.JobID)
	return outcome == coordination.OutcomeValueCancelled || outcome == coordination.OutcomeValueKilled, err
}

// fillUp gives permits to those who wait for one, where there are more now than there were.
func (c *Coordinator) fillUp(ctx context.Context, open []projection.Row) error {
	targets := map[string]bool{}
	for i := range open {
		if open[i].Phase == decide.Dispatching {
			targets[open[i].ToAgent] = true
		}
	}
	for target := range targets {
		for more := true; more; {
			now := c.o.Now()
			_, err := c.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
				active, waiting, err := projection.Permits(tx, target)
				if err == nil && waiting > 0 {
					appends, err = c.handOver(tx, target, active, nil, now)
				}
				more = len(appends) > 0 // then others may have room behind them
				return appends, err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
