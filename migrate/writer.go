package migrate

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Bounds of one append. Two are in memory: the one that is being stored, and the one that is being filled.
const (
	batchEvents = 2_000
	batchBytes  = 4 << 20
)

// writer stores events in batches, beside the goroutine that makes them and in its order.
type writer struct {
	log     eventstore.Store    // nil: a plan
	refused func(origin, error) // is told of an event that can never be stored

	batch   batch
	storing chan outcome // of the batch that is being stored; nil: none
}

// batch is what is stored together.
type batch struct {
	appends []eventstore.StreamAppend
	origins []origin // of the events
	bytes   int
	then    []func() (told func(), err error)
}

// origin is where an event comes from.
type origin struct {
	count *Count
	place string
}

// outcome is what became of a batch. What it tells is told by the goroutine that makes events, which alone has the report.
type outcome struct {
	told []func()
	err  error
}

// add adds an event, and has those before it stored if they are enough.
func (w *writer) add(ctx context.Context, stream string, e eventstore.NewEvent, from origin) error {
	if w.log == nil {
		if err := e.Check(); err != nil {
			w.refused(from, err)
		} else {
			from.count.New++
		}
		return nil
	}
	b := &w.batch
	if len(b.origins) >= batchEvents || b.bytes+len(e.Data) > batchBytes && b.bytes > 0 {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if n := len(b.appends); n == 0 || b.appends[n-1].Stream != stream {
		b.appends = append(b.appends, eventstore.StreamAppend{Stream: stream})
	}
	last := &b.appends[len(b.appends)-1]
	last.Events = append(last.Events, e)
	b.origins, b.bytes = append(b.origins, from), b.bytes+len(e.Data)
	return nil
}

// then has do called once all events that were added are in the tables, beside the caller. told, which may be nil, is called by the caller.
func (w *writer) then(ctx context.Context, do func() (told func(), err error)) error {
	if w.batch.then = append(w.batch.then, do); len(w.batch.then) >= batchEvents {
		return w.begin(ctx)
	}
	return nil
}

// begin begins to store what was added, after what was added before it.
func (w *writer) begin(ctx context.Context) error {
	if err := w.wait(); err != nil {
		return err
	}
	b, storing := w.batch, make(chan outcome, 1)
	w.batch, w.storing = batch{}, storing
	go func() { storing <- b.store(ctx, w) }()
	return nil
}

// wait waits until what was handed over is stored.
func (w *writer) wait() error {
	if w.storing == nil {
		return nil
	}
	done := <-w.storing
	w.storing = nil
	for _, tell := range done.told {
		tell()
	}
	return done.err
}

// flush stores all that was added.
func (w *writer) flush(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	return w.wait()
}

// store stores the events, then does what follows them.
func (b *batch) store(ctx context.Context, w *writer) (done outcome) {
	tell := func(told func()) {
		if told != nil {
			done.told = append(done.told, told)
		}
	}
	if done.err = b.append(ctx, w, tell); done.err != nil {
		return done
	}
	for _, do := range b.then {
		told, err := do()
		if tell(told); err != nil {
			done.err = err
			return done
		}
	}
	return done
}

// append appends the events: all at once, or if the log refuses that, one by one.
func (b *batch) append(ctx context.Context, w *writer, tell func(func())) error {
	if len(b.origins) == 0 {
		return nil
	}
	result, err := w.log.Append(ctx, b.appends...)
	_, taken := errors.AsType[*eventstore.IDReuseError](err)
	_, invalid := errors.AsType[*eventstore.InvalidError](err)
	switch {
	case invalid && b.refuse(w, tell):
		return b.append(ctx, w, tell)
	case taken:
		return b.each(ctx, w, tell)
	case err != nil:
		return err
	}
	tell(func() {
		for i := range result.Events {
			counted(b.origins[i].count, result.Events[i].Duplicate)
		}
	})
	return nil
}

// refuse takes out the events that can never be stored, and reports whether there were any.
func (b *batch) refuse(w *writer, tell func(func())) (any bool) {
	origins := b.origins
	b.origins = nil
	for i := range b.appends {
		var sound []eventstore.NewEvent
		for _, e := range b.appends[i].Events {
			from := origins[0]
			origins = origins[1:]
			if err := e.Check(); err != nil {
				tell(func() { w.refused(from, err) })
				any = true
				continue
			}
			sound, b.origins = append(sound, e), append(b.origins, from)
		}
		b.appends[i].Events = sound
	}
	return any
}

// each stores events one by one. One whose id is taken was stored by another version of this program, in other words.
func (b *batch) each(ctx context.Context, w *writer, tell func(func())) error {
	n := 0
	for i := range b.appends {
		for _, e := range b.appends[i].Events {
			from := b.origins[n]
			n++
			result, err := w.log.Append(ctx, eventstore.StreamAppend{Stream: b.appends[i].Stream, Events: []eventstore.NewEvent{e}})
			_, taken := errors.AsType[*eventstore.IDReuseError](err)
			if err != nil && !taken {
				return err
			}
			already := taken || result.Events[0].Duplicate
			tell(func() { counted(from.count, already) })
		}
	}
	return nil
}

func counted(c *Count, already bool) {
	if already {
		c.Already++
	} else {
		c.New++
	}
}
