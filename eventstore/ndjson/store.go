package ndjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// store stores a batch in the log, in order, and completes its report.
func (im *Importer) store(ctx context.Context, b *batch) error {
	for rest := b.items; len(rest) > 0; {
		put, n := im.append, 1
		if rest[0].exported != nil {
			put = im.restore
		}
		for n < len(rest) && (rest[n].exported != nil) == (rest[0].exported != nil) {
			n++
		}
		if err := put(ctx, rest[:n], &b.report); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// append stores items by id. The log may have an id with another body: see settle.
func (im *Importer) append(ctx context.Context, items []item, report *FileReport) error {
	result, err := im.appendAll(ctx, items)
	if _, reused := errors.AsType[*eventstore.IDReuseError](err); reused {
		if items, err = im.settle(ctx, items, report); err == nil {
			result, err = im.appendAll(ctx, items)
		}
	}
	for _, stored := range result.Events {
		if stored.Duplicate {
			report.Duplicates++
		} else {
			report.New++
		}
	}
	return err
}

func (im *Importer) appendAll(ctx context.Context, items []item) (result eventstore.Result, err error) {
	var appends []eventstore.StreamAppend
	for i := range items {
		if n := len(appends); n == 0 || appends[n-1].Stream != items[i].stream {
			appends = append(appends, eventstore.StreamAppend{Stream: items[i].stream})
		}
		part := &appends[len(appends)-1]
		part.Events = append(part.Events, items[i].event)
	}
	if len(appends) == 0 {
		return eventstore.Result{}, nil
	}
	err = patiently(ctx, func() error {
		result, err = im.opts.Log.Append(ctx, appends...)
		return err
	})
	return result, err
}

// settle leaves only items that the log can accept, after it refused some because of their ids:
//
//   - A derived id that is stored stands for this very line, whatever an older version of this package, a changed
//     configuration or redaction made of it.
//   - An id from the line itself stands for the line if type and data agree, whatever a formatter made of its
//     envelope. If they do not, the id is wrong, and the event gets the derived one. Ids of an export are trusted:
//     there an equal type is enough.
func (im *Importer) settle(ctx context.Context, items []item, report *FileReport) ([]item, error) {
	fresh := make([]item, 0, len(items))
	here := make(map[eventstore.ID]*eventstore.NewEvent, len(items))
	for _, it := range items {
		holder, err := im.holder(ctx, it.event.ID, here)
		if err == nil && holder != nil && it.event.ID != it.derived && !it.isKnownAs(holder) {
			it.disown()
			holder, err = im.holder(ctx, it.event.ID, here)
		}
		if err != nil {
			return nil, err
		}
		if holder != nil {
			report.Duplicates++
			continue
		}
		here[it.event.ID] = &it.event
		fresh = append(fresh, it)
	}
	return fresh, nil
}

// holder returns the event that has the id, here or in the log; without Data if it is redacted, nil if the id is free.
func (im *Importer) holder(ctx context.Context, id eventstore.ID, here map[eventstore.ID]*eventstore.NewEvent) (*eventstore.NewEvent, error) {
	if e := here[id]; e != nil {
		return e, nil
	}
	stored, err := im.opts.Log.EventByID(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := newEvent(&stored)
	return &e, nil
}

// isKnownAs reports whether the event that has the item's own id is the item's.
func (it *item) isKnownAs(holder *eventstore.NewEvent) bool {
	return holder.Type == it.event.Type && (it.exported != nil || holder.Data == nil || sameJSON(holder.Data, it.event.Data))
}

func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var values [2]any
	for i, text := range [...][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&values[i]); err != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// restore stores the events of a full export: exactly, as far as they continue the log; the others are appended by id.
func (im *Importer) restore(ctx context.Context, items []item, report *FileReport) error {
	items, err := im.skipRestored(ctx, items, report)
	if err != nil {
		return err
	}
	if items, err = im.restoreChain(ctx, items, report); err != nil {
		return err
	}
	var rest []item
	for _, it := range items {
		if !it.exported.Redacted() {
			rest = append(rest, it)
			continue
		}
		holder, err := im.holder(ctx, it.event.ID, nil)
		if err != nil {
			return err
		}
		if holder != nil {
			report.Duplicates++
		} else {
			report.Lost++
		}
	}
	return im.append(ctx, rest, report)
}

// skipRestored drops the leading events that the log has in the same place, with the same hash.
func (im *Importer) skipRestored(ctx context.Context, items []item, report *FileReport) ([]item, error) {
	there, err := im.opts.Log.Read(ctx, items[0].exported.Seq-1, len(items))
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(there) && there[n].Seq == items[n].exported.Seq && there[n].Hash == items[n].exported.Hash {
		n++
	}
	report.Duplicates += int64(n)
	return items[n:], nil
}

// restoreChain restores the leading events that continue the log's chain and returns the others.
func (im *Importer) restoreChain(ctx context.Context, items []item, report *FileReport) ([]item, error) {
	if im.opts.Restorer == nil || len(items) == 0 {
		return items, nil
	}
	head, err := im.opts.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	var events []eventstore.Event
	for i := range items {
		e := items[i].exported
		if !continues(head, e) {
			break
		}
		events = append(events, *e)
		head = eventstore.Head{Seq: e.Seq, Hash: e.Hash}
	}
	if len(events) == 0 {
		return items, nil
	}
	err = patiently(ctx, func() error { return im.opts.Restorer.Restore(ctx, events) })
	if corrupt, ok := errors.AsType[*eventstore.CorruptError](err); ok {
		im.opts.Logger.WarnContext(ctx, "cannot restore the export exactly; appending its events", "detail", corrupt.Detail)
		return items, nil
	}
	if err != nil {
		return nil, err
	}
	report.New += int64(len(events))
	report.Restored += int64(len(events))
	return items[len(events):], nil
}

func continues(head eventstore.Head, e *eventstore.Event) bool {
	return e.Seq == head.Seq+1 && e.Hash == eventstore.ChainHash(head.Hash, e) &&
		(e.Redacted() || e.DataHash == eventstore.PayloadHash(e.Salt, e.Data, e.Original))
}

// patiently retries an append while the queue is full. The store itself already waits for another process.
func patiently(ctx context.Context, try func() error) error {
	for {
		err := try()
		busy, ok := errors.AsType[*eventstore.BusyError](err)
		if !ok || busy.Held {
			return err
		}
		if wait.For(ctx, max(busy.RetryAfter, time.Millisecond)) != nil {
			return ctx.Err()
		}
	}
}
