package worker

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// flightKey is under which a flight is found in the context of its Do.
type flightKey struct{}

// Ending tells, from within a Do, that what ends its item is appended now. What waits for its place may begin in the same commit then, and
// need not wait for another one. Nothing depends on it: the item has its place until the log says that it is over.
func Ending(ctx context.Context) {
	f, is := ctx.Value(flightKey{}).(*flight)
	if !is || f.ending.Swap(true) {
		return
	}
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// unended is how many items of a pool were said to end, and have not ended yet.
func (c *claim) unended(tx eventstore.Tx, pool string) (n int, err error) {
	for _, f := range c.ending {
		if f.item.Pool != pool {
			continue
		}
		is, found, err := work.Load(tx, f.item.EffectID)
		if err != nil {
			return 0, err
		}
		if found && is.Holds(&f.item) {
			n++
		}
	}
	return n, nil
}
