package ndjson

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/pronto-lab/openclawd/eventstore"
)

// batch is a run of lines whose events are stored together.
type batch struct {
	items  []item
	size   int64      // numbers of the lines
	seen   []uint64   // what these lines have added to Importer.seen
	report FileReport // counts added by these lines
}

// item is an event on its way to the log.
type item struct {
	event    eventstore.NewEvent
	stream   string
	derived  eventstore.ID     // the id derived from the line; event.ID unless the line has its own
	exported *eventstore.Event // set for a line of a full export: the event as it was stored
}

// read turns the lines of p into batches. It stops soon after ctx ends; out must be drained until it returns.
func (im *Importer) read(ctx context.Context, p part, out chan<- *batch) error {
	im.lines.reset(p.in)
	b := &batch{}
	send := func() error {
		out <- b
		b = &batch{}
		return ctx.Err()
	}
	for n := p.before + 1; ; n++ {
		raw, err := im.lines.next()
		if errors.Is(err, io.EOF) {
			return send()
		}
		if err != nil {
			return errors.Join(send(), err)
		}
		if !im.fits(b, raw.size) {
			if err := send(); err != nil {
				return err
			}
		}
		took, err := im.addLine(ctx, b, raw, p, n)
		if err != nil {
			return errors.Join(send(), err)
		}
		if !took {
			b.report.Tail = raw.size
			return send()
		}
	}
}

func (im *Importer) fits(b *batch, size int64) bool {
	return b.size == 0 || len(b.items) < im.opts.BatchEvents && b.size+size <= int64(im.opts.BatchBytes)
}

// addLine adds a line to the batch. It leaves out a line that has no line feed and cannot be parsed yet, unless the line
// will never be completed. After an error the batch is unchanged.
func (im *Importer) addLine(ctx context.Context, b *batch, raw rawLine, p part, n int64) (took bool, err error) {
	line := trimLine(raw.text)
	if len(line) == 0 && raw.over == nil {
		b.count(raw.size)
		b.report.Blank++
		return true, nil
	}
	var (
		parsed    Line
		rejection = raw.over
		digest    eventstore.Hash
	)
	if rejection != nil {
		digest = rejection.SHA256
	} else {
		text := decode(bytes.Clone(line))
		digest = sha256.Sum256(text)
		var reason Reason
		if parsed, reason = parse(text); reason != "" {
			if _, ok := blankedID(text); ok && raw.ended {
				b.count(raw.size)
				b.report.Blank++
				return true, nil
			}
			rejection = reject(reason, line)
		}
	}
	if rejection != nil && !raw.ended {
		if !p.closed {
			return false, nil
		}
		rejection.Reason = Unfinished
	}
	chain := idChain{domain: eventDomain, digest: digest}
	switch {
	case rejection != nil:
		chain.domain = rejectedDomain
	case parsed.Exported != nil:
		chain.ts = parsed.Exported.TS
	default:
		chain.ts = parsed.Event.TS
	}
	occurrence, err := im.occurrence(ctx, b, chain)
	if err != nil {
		return false, err
	}
	b.count(raw.size)
	derived := chain.id(occurrence)
	switch {
	case rejection != nil:
		b.report.reject(rejection.Reason, 1)
		if im.opts.Reject != nil {
			b.items = append(b.items, im.rejected(*rejection, p.name, n, derived))
		}
	case parsed.Exported != nil:
		e := parsed.Exported
		b.report.Accepted++
		b.report.happened(e.TS, e.TS)
		b.items = append(b.items, item{event: newEvent(e), stream: e.Stream, exported: e, derived: derived})
	default:
		b.report.Accepted++
		b.items = append(b.items, im.accepted(parsed.Event, derived))
		b.report.happened(parsed.Event.TS, parsed.Event.TS)
	}
	return true, nil
}

func (b *batch) count(size int64) {
	b.size += size
	b.report.Bytes += size
	b.report.Lines++
}

func (im *Importer) accepted(e eventstore.NewEvent, derived eventstore.ID) item {
	if e.ID.IsZero() {
		e.ID = derived
	}
	return item{event: e, derived: derived, stream: im.opts.Stream(e.Type, e.AgentID, e.Data, e.Original)}
}

func (im *Importer) rejected(r Rejection, name string, n int64, id eventstore.ID) item {
	typ, data := im.opts.Reject(name, n, r)
	return item{
		event:   eventstore.NewEvent{ID: id, Type: typ, Actor: eventstore.ActorSystem, Data: data},
		derived: id,
		stream:  im.opts.Stream(typ, "", data, nil),
	}
}

// disown gives the event the derived id, and stores the id that its line claims among the members without a meaning.
func (it *item) disown() {
	e := &it.event
	original := bytes.Clone(e.Original)
	if original == nil {
		original = appendEnvelope(nil, e.Type, e.AgentID, e.TS)
	}
	e.Original = appendID(original, e.ID)
	e.ID = it.derived
}
