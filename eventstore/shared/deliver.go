package shared

import (
	"context"
	"errors"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// ErrPlace is returned by Transport.Send when the place of the record is taken, or the log ends before it.
var ErrPlace = errors.New("the place of the record is not free")

// Transport is what Deliver needs of a log whose answers may be lost.
type Transport interface {
	// Send tries once to store a record. Errors: ErrPlace; *UnavailableError if it was certainly not stored; any other
	// error means that it may have been.
	Send(ctx context.Context, r Record) error
	Read(ctx context.Context, after int64, limit int) ([]Record, error)
	Head(ctx context.Context) (Head, error)
}

// gapTries is how often a log may seem to end before the place of a record until that counts.
const gapTries = 8

// pauses between attempts of Deliver.
var pauses = backoff.Backoff{First: 2 * time.Millisecond, Most: 100 * time.Millisecond}

// Deliver implements Log.Append with a Transport. If an answer is lost, it sends the record again: then either the place
// was free, or what has it tells. Reading alone would not do, because what was sent first may still arrive.
func Deliver(ctx context.Context, t Transport, r Record) error {
	sent := false // it may be stored
	for attempt := 1; ; attempt++ {
		if err := ctx.Err(); err != nil && !sent {
			return &UnavailableError{Err: err}
		}
		err := t.Send(ctx, r)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrPlace):
			var told bool
			if told, err = settle(ctx, t, &r); told || attempt >= gapTries && !sent && errors.As(err, new(*ConflictError)) {
				return err
			}
		case !errors.As(err, new(*UnavailableError)):
			sent = true
		}
		if over := wait.For(ctx, pauses.After(attempt)); over != nil {
			return giveUp(&r, sent, err, over)
		}
	}
}

// giveUp is the error of a record without a definite answer. last is what the last attempt gave.
func giveUp(r *Record, sent bool, last, over error) error {
	conflict, unavailable := new(ConflictError), new(UnavailableError)
	switch {
	case last == nil:
		last = over
	case errors.As(last, &conflict) && !sent:
		return conflict
	case errors.As(last, &unavailable):
		last = unavailable.Err
	}
	if sent {
		return &UncertainError{Number: r.Number, Err: last}
	}
	return &UnavailableError{Err: last}
}

// settle finds out what has the place of r. told is false if that does not show yet: a log may refuse a record because
// of one that it has accepted and does not show, and the end of a log may be read where it is out of date.
func settle(ctx context.Context, t Transport, r *Record) (told bool, err error) {
	found, err := t.Read(ctx, r.Number-1, 1)
	if err != nil {
		return unreadable(err)
	}
	if len(found) > 0 && found[0].Is(r) {
		return true, nil
	}
	head, err := t.Head(ctx)
	if err != nil {
		return unreadable(err)
	}
	return len(found) > 0, &ConflictError{Number: r.Number, Head: head}
}

func unreadable(err error) (told bool, _ error) {
	if errors.As(err, new(*UnsoundError)) {
		return true, err
	}
	return false, &UnavailableError{Err: err}
}

// Open appends the record that opens the next epoch for a node, and returns its place. It is for implementations of
// Acquire.
func Open(ctx context.Context, log Log, node string) (Head, error) {
	for {
		head, err := log.Head(ctx)
		if err != nil {
			return Head{}, err
		}
		r := Opening(head, node)
		err = log.Append(ctx, r)
		if err == nil {
			return r.Head(), nil
		}
		if !errors.As(err, new(*ConflictError)) || ctx.Err() != nil {
			return Head{}, err
		}
	}
}

// pageOf is how many records Poll reads at once.
const pageOf = 256

// Poll implements Log.Watch for a log that can be waited for: await returns when there may be records behind after.
func Poll(ctx context.Context, after int64, handle func([]Record) error,
	read func(ctx context.Context, after int64, limit int) ([]Record, error), await func(ctx context.Context, after int64) error) error {
	for {
		records, err := read(ctx, after, pageOf)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			if err := handle(records); err != nil {
				return err
			}
			after = records[len(records)-1].Number
		}
		if len(records) < pageOf {
			if err := await(ctx, after); err != nil {
				return err
			}
		}
	}
}

// portionBytes is how large the payloads of a record of Fill become before it ends.
const portionBytes = 1 << 20

// portion returns how many of the events go into one record.
func portion(events []eventstore.Event) int {
	size := 0
	for i := range events {
		if size += len(events[i].Data) + len(events[i].Original); size >= portionBytes {
			return i + 1
		}
	}
	return len(events)
}

// Fill copies a log of one node to a shared one, behind the events that this has, in records of at most 256 events, as
// the holder of the lease. It may be repeated after a failure. The errors are an *AheadError, a *DivergedError, or those
// of from and to.
func Fill(ctx context.Context, from eventstore.Reader, to Log, lease Lease) (Head, error) {
	head := lease.Head
	own, err := from.Head(ctx)
	if err != nil {
		return head, err
	}
	if head.Seq > own.Seq {
		return head, &AheadError{Local: head.Seq, Shared: own.Seq}
	}
	if head.Seq > 0 {
		e, err := from.Event(ctx, head.Seq)
		if err != nil {
			return head, err
		}
		if e.Hash != head.Hash {
			return head, &DivergedError{Seq: head.Seq, Local: e.Hash, Shared: head.Hash}
		}
	}
	for head.Seq < own.Seq {
		events, err := from.Read(ctx, head.Seq, pageOf)
		if err != nil {
			return head, err
		}
		r := Following(head, events[:portion(events)], nil)
		if err := to.Append(ctx, r); err != nil {
			return head, err
		}
		head = r.Head()
	}
	return head, nil
}
