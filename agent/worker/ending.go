package worker

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// flightKey is the key of a flight in the context of its Do.
type flightKey struct{}

// AnnounceEnd announces, from within Do, that the end of its item is being appended, so that the next item can start in the
// same commit. It is only an optimization: the item keeps its place until the log has its end.
func AnnounceEnd(ctx context.Context) {
	f, is := ctx.Value(flightKey{}).(*flight)
	if !is || f.ending.Swap(true) {
		return
	}
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// unended is the number of items per pool that are announced to end and have not.
func (c *claim) unended(tx eventstore.Tx, pool string) (n int, err error) {
	for _, f := range c.ending {
		if f.item.Pool != pool {
			continue
		}
		is, found, err := workqueue.Load(tx, f.item.EffectID)
		if err != nil {
			return 0, err
		}
		if found && is.Holds(&f.item) {
			n++
		}
	}
	return n, nil
}
