package projections

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// folding builds tables of a log from its first event on, in large batches.
type folding struct {
	rules  coordination.Rules
	units  []*unit
	config *configuration
	cursor int64                   // folded up to here
	report func(*eventstore.Event) // called for every event; may be nil
}

func newFolding(rules coordination.Rules) folding {
	return folding{rules: rules, config: emptyConfiguration()}
}

// turn is one transaction of a folding.
type turn struct {
	events int // at least this many events, if available
	// within runs the turn; it calls job once.
	within func(job func(eventstore.Tx) error) error
	ahead  func() // called after each page; may be nil
	last   func(eventstore.Tx) error
	after  func() // called after the commit; may be nil
}

// page is a run of events, classified ahead of their turn.
type page struct {
	events []accepted
	err    error
}

// pageReader reads the events to fold.
type pageReader interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// pages reads and classifies the events after the cursor, up to until, on its own goroutine, which ends with ctx. It
// stops early before a page of fewer events than few, and at an error.
func (f *folding) pages(ctx context.Context, log pageReader, until int64, size, few int) <-chan page {
	ahead := make(chan page, 4)
	rules, after, config := f.rules, f.cursor, f.config
	go func() {
		defer close(ahead)
		for after < until {
			limit := int(min(int64(size), until-after))
			stored, err := log.Read(ctx, after, limit)
			p := page{err: err}
			p.events, config = acceptAll(rules, config, stored)
			select {
			case ahead <- p:
			case <-ctx.Done():
				return
			}
			if err != nil || len(stored) < min(limit, few) {
				return
			}
			after = stored[len(stored)-1].Seq
		}
	}()
	return ahead
}

// run folds the pages turn by turn.
func (f *folding) run(ctx context.Context, ahead <-chan page, t turn) error {
	for {
		p, open := <-ahead // before a turn begins: others write while we wait
		if !open {
			return ctx.Err()
		}
		err := t.within(func(tx eventstore.Tx) error {
			for n := 0; open; {
				if p.err != nil {
					return p.err
				}
				if err := f.apply(tx, p.events); err != nil {
					return err
				}
				if t.ahead != nil {
					t.ahead()
				}
				if n += len(p.events); n >= t.events {
					break
				}
				p, open = <-ahead
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.flush(tx); err != nil || t.last == nil {
				return err
			}
			return t.last(tx)
		})
		if err != nil {
			return err
		}
		f.trim()
		if t.after != nil {
			t.after()
		}
	}
}

// applyStored classifies and applies events.
func (f *folding) applyStored(tx eventstore.Tx, stored []eventstore.Event) error {
	events, _ := acceptAll(f.rules, f.config, stored)
	return f.apply(tx, events)
}

func (f *folding) apply(tx eventstore.Tx, events []accepted) error {
	for i := range events {
		e := &events[i].Event
		if e.Seq != f.cursor+1 {
			return fmt.Errorf("got event %d, want %d", e.Seq, f.cursor+1)
		}
		if f.report != nil {
			f.report(e.Event)
		}
		for _, u := range f.units {
			if err := u.apply(tx, e); err != nil {
				return &ApplyError{Projection: u.def.Name, Seq: e.Seq, Type: e.Type, Err: err}
			}
		}
		f.cursor, f.config = e.Seq, events[i].config
	}
	return nil
}

// ApplyError names the event that a projector could not fold. Tables being built are then discarded, existing ones
// stay.
type ApplyError struct {
	Projection string
	Seq        int64
	Type       string
	Err        error
}

func (e *ApplyError) Error() string {
	return fmt.Sprintf("projection %s cannot apply event %d (%s): %v", e.Projection, e.Seq, e.Type, e.Err)
}
func (e *ApplyError) Unwrap() error { return e.Err }
func (e *ApplyError) Code() string  { return "apply_failed" }
func (e *ApplyError) Hint() string {
	return fmt.Sprintf("this is a defect in openclawd: report the event (openclawd events show %d); the tables of the database stay as they are", e.Seq)
}

func (f *folding) flush(tx eventstore.Tx) error {
	for _, u := range f.units {
		if err := u.flush(tx); err != nil {
			return err
		}
	}
	return nil
}

func (f *folding) trim() {
	for _, u := range f.units {
		for _, rows := range u.rows {
			rows.Trim()
		}
	}
}
