package migrate

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Bounds of one append.
const (
	batchEvents = 1_000
	batchBytes  = 4 << 20
)

// writer stores events in batches.
type writer struct {
	log     eventstore.Store // nil: a plan
	appends []eventstore.StreamAppend
	counts  []*Count // of the events
	bytes   int
}

// add adds an event, and stores those before it if they are enough.
func (w *writer) add(ctx context.Context, stream string, e eventstore.NewEvent, count *Count) error {
	if w.log == nil {
		count.New++
		return nil
	}
	if len(w.counts) >= batchEvents || w.bytes+len(e.Data) > batchBytes && w.bytes > 0 {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if n := len(w.appends); n == 0 || w.appends[n-1].Stream != stream {
		w.appends = append(w.appends, eventstore.StreamAppend{Stream: stream})
	}
	last := &w.appends[len(w.appends)-1]
	last.Events = append(last.Events, e)
	w.counts, w.bytes = append(w.counts, count), w.bytes+len(e.Data)
	return nil
}

// flush stores what was added.
func (w *writer) flush(ctx context.Context) error {
	if len(w.counts) == 0 {
		return nil
	}
	appends, counts := w.appends, w.counts
	w.appends, w.counts, w.bytes = nil, nil, 0
	result, err := w.log.Append(ctx, appends...)
	if _, other := errors.AsType[*eventstore.IDReuseError](err); other {
		return w.each(ctx, appends, counts)
	}
	if err != nil {
		return err
	}
	for i := range result.Events {
		counted(counts[i], result.Events[i].Duplicate)
	}
	return nil
}

// each stores events one by one. One whose id is taken was stored by another version of this program, in other words.
func (w *writer) each(ctx context.Context, appends []eventstore.StreamAppend, counts []*Count) error {
	n := 0
	for i := range appends {
		for _, e := range appends[i].Events {
			result, err := w.log.Append(ctx, eventstore.StreamAppend{Stream: appends[i].Stream, Events: []eventstore.NewEvent{e}})
			_, taken := errors.AsType[*eventstore.IDReuseError](err)
			if err != nil && !taken {
				return err
			}
			counted(counts[n], taken || result.Events[0].Duplicate)
			n++
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
