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

// page is a run of events, prepared ahead of their turn.
type page struct {
	events   []eventstore.Event
	prepared []*prepared
	err      error
}

// pageReader reads the events to fold.
type pageReader interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// pages reads and prepares the events after after, up to until, on its own goroutine, which ends with ctx. It stops
// early before a page of fewer events than few, and at an error.
func pages(ctx context.Context, log pageReader, rules coordination.Rules, after, until int64, size, few int) <-chan page {
	ahead := make(chan page, 4)
	go func() {
		defer close(ahead)
		for after < until {
			limit := int(min(int64(size), until-after))
			events, err := log.Read(ctx, after, limit)
			p := page{events: events, prepared: make([]*prepared, len(events)), err: err}
			for i := range events {
				p.prepared[i] = prepare(rules, &events[i])
			}
			select {
			case ahead <- p:
			case <-ctx.Done():
				return
			}
			if err != nil || len(events) < min(limit, few) {
				return
			}
			after = events[len(events)-1].Seq
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
				for i := range p.events {
					if err := f.apply(tx, &p.events[i], p.prepared[i]); err != nil {
						return err
					}
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

func (f *folding) apply(tx eventstore.Tx, e *eventstore.Event, p *prepared) error {
	if e.Seq != f.cursor+1 {
		return fmt.Errorf("got event %d, want %d", e.Seq, f.cursor+1)
	}
	event := classify(f.rules, e, p, f.config.roster)
	f.config = f.config.after(event.Event)
	if f.report != nil {
		f.report(e)
	}
	for _, u := range f.units {
		if err := u.apply(tx, &event); err != nil {
			return &ApplyError{Projection: u.def.Name, Seq: e.Seq, Type: e.Type, Err: err}
		}
	}
	f.cursor = e.Seq
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
