package shared

import (
	"encoding/binary"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// layout is the first byte of a body. A body of another layout is refused, not guessed.
const layout = 1

// Parts of an event that may be missing.
const (
	hasPayload = 1 << iota
	hasOriginal
)

// Encode returns the body of a record: layout, the seqs of blanked events, then the events. Numbers are varints, texts
// and payloads are prefixed with their lengths, and seqs of events follow from the record. JSON is not used, because
// payloads must keep every byte.
func Encode(events []eventstore.Event, blank []int64) []byte {
	size := 64 + 10*len(blank)
	for i := range events {
		e := &events[i]
		size += 256 + len(e.Stream) + len(e.Type) + len(e.AgentID) + len(e.CorrelationID) + len(e.CausationID) + len(e.Data) + len(e.Original)
	}
	b := append(make([]byte, 0, size), layout)
	b = binary.AppendUvarint(b, uint64(len(blank)))
	for _, seq := range blank {
		b = binary.AppendUvarint(b, uint64(seq))
	}
	b = binary.AppendUvarint(b, uint64(len(events)))
	for i := range events {
		b = appendEvent(b, &events[i])
	}
	return b
}

func appendEvent(b []byte, e *eventstore.Event) []byte {
	b = append(b, e.ID[:]...)
	b = binary.AppendUvarint(b, uint64(e.Version))
	b = binary.AppendUvarint(b, uint64(e.Ver))
	b = binary.AppendVarint(b, e.TS)
	b = binary.AppendVarint(b, e.RecordedAt)
	for _, text := range [...]string{e.Stream, e.Type, e.AgentID, e.CorrelationID, e.CausationID, string(e.Actor)} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = append(append(b, e.DataHash[:]...), e.Hash[:]...)
	var has byte
	if e.Data != nil {
		has |= hasPayload
	}
	if e.Original != nil {
		has |= hasOriginal
	}
	b = append(b, has)
	if has&hasPayload != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(e.Salt))), e.Salt...)
		b = append(binary.AppendUvarint(b, uint64(len(e.Data))), e.Data...)
	}
	if has&hasOriginal != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(e.Original))), e.Original...)
	}
	return b
}

// Decode returns the events of a record, and the seqs of the events whose payloads the commit removes. The error is an
// *UnsoundError.
func (r *Record) Decode() (events []eventstore.Event, blank []int64, err error) {
	d := decoder{rest: r.Body}
	if of := d.take(1); !d.short && of[0] != layout {
		return nil, nil, r.unsound(fmt.Sprintf("it has layout %d, this program knows %d: run the program that wrote it, or a newer one", of[0], layout))
	}
	for range d.count(1) {
		blank = append(blank, int64(d.uvarint()))
	}
	n := d.count(minEvent)
	if !d.short && int64(n) != r.Last-r.First+1 {
		return nil, nil, r.unsound(fmt.Sprintf("it has %d events, its seqs are %d to %d", n, r.First, r.Last))
	}
	events = make([]eventstore.Event, n)
	for i := range events {
		events[i].Seq = r.First + int64(i)
		d.event(&events[i])
	}
	if d.short || len(d.rest) > 0 {
		return nil, nil, r.unsound("its body is cut off or too long")
	}
	return events, blank, nil
}

// minEvent is the least number of bytes of an event: id, four numbers, six lengths, two hashes, what it has.
const minEvent = 16 + 4 + 6 + 64 + 1

// decoder reads a body. Once it is short, all else is zero.
type decoder struct {
	rest  []byte
	short bool
}

// take returns the next n bytes.
func (d *decoder) take(n int) []byte {
	if d.short || n < 0 || n > len(d.rest) {
		d.short = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.short = true
		return 0
	}
	d.take(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.short = true
		return 0
	}
	d.take(n)
	return v
}

// count reads how many parts of at least size bytes follow.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/size) {
		d.short = true
		return 0
	}
	return int(n)
}

// bytes reads what is prefixed with its length. It is not nil, except when short.
func (d *decoder) bytes() []byte { return d.take(d.count(1)) }

func (d *decoder) event(e *eventstore.Event) {
	copy(e.ID[:], d.take(len(e.ID)))
	e.Version, e.Ver = int64(d.uvarint()), int(d.uvarint())
	e.TS, e.RecordedAt = d.varint(), d.varint()
	for _, text := range [...]*string{&e.Stream, &e.Type, &e.AgentID, &e.CorrelationID, &e.CausationID, (*string)(&e.Actor)} {
		*text = string(d.bytes())
	}
	copy(e.DataHash[:], d.take(len(e.DataHash)))
	copy(e.Hash[:], d.take(len(e.Hash)))
	has := d.take(1)
	if d.short {
		return
	}
	if has[0]&hasPayload != 0 {
		e.Salt, e.Data = d.bytes(), d.bytes()
	}
	if has[0]&hasOriginal != 0 {
		e.Original = d.bytes()
	}
}
