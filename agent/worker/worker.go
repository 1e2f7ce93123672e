// Package worker does what package projections/work has waiting: it takes what is ready, as much at a time as the pools allow, in turn
// between owners, and gives it to the handler of its kind.
//
// It promises
//   - that what has one key is done one after the other, in order, also over restarts;
//   - that a handler is called only after the lease is on disk, and that what is leased ends: with the events of its handler, or with those
//     that take it away, when its time is over or its process is gone;
//   - that waiting costs nothing but rows: no goroutine and no timer each;
//   - that it lets under way what is under way when it is told to end, for a while, and then ends its context.
//
// What is done outside may be done twice where a process died between the deed and its event. The effect's id, which stays the same, lets
// the outside tell.
package worker

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Handler does one kind of work.
type Handler interface {
	// Begin says what is appended in the transaction that leases an item; among it has to be the event that does. It reads nothing but tx. It
	// returns no events for an item that cannot begin, beside those that end it.
	Begin(tx eventstore.Tx, item work.Item, now time.Time) ([]eventstore.StreamAppend, error)
	// Do does it, and returns when the events that end it, or give it back, are on disk. ctx ends with the lease or with the program; its
	// cause is ErrLease or ErrDrained then. An error is logged; the item is given back as if its time were over.
	Do(ctx context.Context, item work.Item) error
	// Lost says what is appended for an item whose worker is gone, or that was not ended by Do. why is "restart" or "lease".
	Lost(tx eventstore.Tx, item work.Item, why string, now time.Time) ([]eventstore.StreamAppend, error)
}
