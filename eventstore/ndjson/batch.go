package ndjson

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	"github.com/pronto-lab/openclawd/eventstore"
)

// batch is a run of lines whose events are stored together.
type batch struct {
	items  []item
	size   int64      // of the lines
	seen   []uint64   // what these lines have counted in Importer.seen
	report FileReport // what these lines add
}

// item is an event on its way to the log.
type item struct {
	event    eventstore.NewEvent
	stream   string
	derived  eventstore.ID     // the id that follows from the line; event.ID unless the line has one of its own
	exported *eventstore.Event // of a line of a full export: the event as it was stored
}

// Domains keep the ids of events and those of rejected lines apart. They are part of every imported id and must never change.
const (
	eventDomain    = "openclawd/ndjson/event"
	rejectedDomain = "openclawd/ndjson/rejected"
)

// read turns the lines of r into batches. It stops soon after ctx ends; out must be drained until it returns.
func (im *Importer) read(ctx context.Context, r io.Reader, name string, out chan<- *batch) error {
	in := newLines(r)
	b := &batch{}
	send := func() error {
		out <- b
		b = &batch{}
		return ctx.Err()
	}
	for n := int64(1); ; n++ {
		raw, err := in.next()
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
		if !im.take(b, raw, name, n) {
			b.report.Tail = raw.size
			return send()
		}
	}
}

func (im *Importer) fits(b *batch, size int64) bool {
	return b.size == 0 || len(b.items) < im.opts.BatchEvents && b.size+size <= int64(im.opts.BatchBytes)
}

// take adds a line to the batch. It refuses a line that has no line feed and makes no sense yet.
func (im *Importer) take(b *batch, raw rawLine, name string, n int64) (ok bool) {
	line := trimLine(raw.text)
	if len(line) == 0 && raw.over == nil {
		b.count(raw.size)
		b.report.Blank++
		return true
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
			rejection = reject(reason, line)
		}
	}
	if rejection != nil && !raw.ended {
		return false
	}
	b.count(raw.size)
	occurrence := im.occurrence(b, digest)
	switch {
	case rejection != nil:
		b.report.reject(rejection.Reason, 1)
		if im.opts.Reject != nil {
			b.items = append(b.items, im.rejected(*rejection, name, n, digest, occurrence))
		}
	case parsed.Exported != nil:
		e := parsed.Exported
		b.report.Accepted++
		b.report.happened(e.TS, e.TS)
		b.items = append(b.items, item{
			event: newEvent(e), stream: e.Stream, exported: e,
			derived: derivedID(eventDomain, e.TS, digest, occurrence),
		})
	default:
		b.report.Accepted++
		b.items = append(b.items, im.accepted(parsed.Event, digest, occurrence))
		b.report.happened(parsed.Event.TS, parsed.Event.TS)
	}
	return true
}

func (b *batch) count(size int64) {
	b.size += size
	b.report.Bytes += size
	b.report.Lines++
}

// occurrence tells how often the text with this digest was seen before, and counts it.
func (im *Importer) occurrence(b *batch, digest eventstore.Hash) uint32 {
	key := binary.BigEndian.Uint64(digest[:])
	before := im.seen[key]
	im.seen[key] = before + 1
	b.seen = append(b.seen, key)
	return before
}

// forget takes back what the lines of a batch have counted: they were not stored and may come again.
func (im *Importer) forget(b *batch) {
	for _, key := range b.seen {
		im.seen[key]--
	}
}

func (im *Importer) accepted(e eventstore.NewEvent, digest eventstore.Hash, occurrence uint32) item {
	derived := derivedID(eventDomain, e.TS, digest, occurrence)
	if e.ID.IsZero() {
		e.ID = derived
	}
	return item{event: e, derived: derived, stream: im.opts.Stream(e.Type, e.AgentID, e.Data, e.Original)}
}

func (im *Importer) rejected(r Rejection, name string, n int64, digest eventstore.Hash, occurrence uint32) item {
	typ, data := im.opts.Reject(name, n, r)
	id := derivedID(rejectedDomain, 0, digest, occurrence)
	return item{
		event:   eventstore.NewEvent{ID: id, Type: typ, Actor: eventstore.ActorSystem, Data: data},
		derived: id,
		stream:  im.opts.Stream(typ, "", data, nil),
	}
}

// disown gives the event the derived id, and notes the one that its line claims where a member without a meaning would stand.
func (it *item) disown() {
	e := &it.event
	original := bytes.Clone(e.Original)
	if original == nil {
		original = appendEnvelope(nil, e.Type, e.AgentID, e.TS)
	}
	e.Original = appendID(original, e.ID)
	e.ID = it.derived
}

func derivedID(domain string, ts int64, digest eventstore.Hash, occurrence uint32) eventstore.ID {
	b := append([]byte(domain), digest[:]...)
	return eventstore.DerivedID(ts, sha256.Sum256(binary.BigEndian.AppendUint32(b, occurrence)))
}
