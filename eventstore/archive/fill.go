package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Fill restores the payload of an event from its archive and reports whether it did. A redacted event stays as it is.
// The payload is checked against the event's DataHash. Errors: *eventstore.ArchivedError.
func (d *Dir) Fill(ctx context.Context, e *eventstore.Event) (bool, error) {
	if e.Data != nil {
		return false, nil
	}
	all, err := d.cachedList()
	if err != nil {
		return false, err
	}
	k, at, ok := covering(all, e.Seq)
	if !ok {
		return false, nil
	}
	filled, err := d.fillFrom(ctx, k, at, e)
	if err == nil || ctx.Err() != nil {
		return filled, err
	}
	// The archive may have been rewritten since it was located.
	if all, again := d.scan(); again == nil {
		if k, at, ok := covering(all, e.Seq); ok {
			return d.fillFrom(ctx, k, at, e)
		}
	}
	return false, err
}

// Has reports whether an event is in the range of an archive that has a manifest.
func (d *Dir) Has(seq int64) bool {
	all, err := d.cachedList()
	if err != nil {
		return false
	}
	_, _, ok := covering(all, seq)
	return ok
}

// Any reports whether there is any archive.
func (d *Dir) Any() (bool, error) {
	all, err := d.cachedList()
	return len(all) > 0, err
}

func (d *Dir) fillFrom(ctx context.Context, k *known, at int, e *eventstore.Event) (bool, error) {
	if k.err != nil {
		return false, k.err
	}
	f, err := d.frame(ctx, &k.Manifest, at)
	if err != nil {
		return false, err
	}
	p, err := f.payload(e.Seq)
	if err != nil {
		return false, d.unreadable(&k.Manifest, err)
	}
	if p.data == nil {
		return false, nil // redacted
	}
	if eventstore.PayloadHash(p.salt, p.data, p.original) != e.DataHash {
		return false, d.unreadable(&k.Manifest, fmt.Errorf("event %d: payload differs from the one appended", e.Seq))
	}
	e.Data, e.Original, e.Salt = p.data, p.original, p.salt
	return true, nil
}

// frame is a frame of an archive, unpacked.
func (d *Dir) frame(ctx context.Context, m *Manifest, at int) (*frame, error) {
	key := frameKey{m.File, m.SHA256, at}
	d.mu.Lock()
	f := d.frames.get(key)
	d.mu.Unlock()
	if f != nil {
		return f, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(d.path, m.File))
	if err != nil {
		return nil, d.unreadable(m, err)
	}
	defer file.Close()
	raw, err := d.unpack(file, m.Frames[at])
	if err != nil {
		return nil, d.unreadable(m, err)
	}
	if f, err = newFrame(raw, m.Frames[at].First, m.until(at)); err != nil {
		return nil, d.unreadable(m, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frames.put(key, f)
	return f, nil
}

// unpack reads one frame of a file.
func (d *Dir) unpack(file io.ReaderAt, at Frame) ([]byte, error) {
	p, err := d.packer()
	if err != nil {
		return nil, err
	}
	packed, err := io.ReadAll(io.NewSectionReader(file, at.Offset, at.Bytes)) // grows with the data, not with the size that the manifest claims
	if err != nil {
		return nil, err
	}
	if int64(len(packed)) < at.Bytes {
		return nil, fmt.Errorf("file is truncated: %w", io.ErrUnexpectedEOF)
	}
	raw, err := p.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return raw, nil
}

// frame holds the lines of consecutive events.
type frame struct {
	raw   []byte
	first int64
	ends  []int32 // end offset of each line, its line break included
}

func newFrame(raw []byte, first, last int64) (*frame, error) {
	f := &frame{raw: raw, first: first, ends: make([]int32, 0, last-first+1)}
	for at := 0; at < len(raw); {
		n := bytes.IndexByte(raw[at:], '\n')
		if n < 0 {
			return nil, errors.New("last line has no line break")
		}
		at += n + 1
		f.ends = append(f.ends, int32(at))
	}
	if int64(len(f.ends)) != last-first+1 {
		return nil, fmt.Errorf("%d lines instead of %d for events %d to %d", len(f.ends), last-first+1, first, last)
	}
	return f, nil
}

// line returns the line of an event in the frame.
func (f *frame) line(seq int64) []byte {
	i, begin := seq-f.first, int32(0)
	if i > 0 {
		begin = f.ends[i-1]
	}
	return f.raw[begin : f.ends[i]-1]
}

func (f *frame) size() int { return cap(f.raw) + 4*cap(f.ends) }

// payload is what archiving removed from an event; data is nil if the event was redacted.
type payload struct{ data, original, salt []byte }

// payload decodes the payload of an event. The result shares no memory with the frame.
func (f *frame) payload(seq int64) (p payload, err error) {
	line := f.line(seq)
	var said struct {
		Seq      int64
		Data     json.RawMessage
		Original json.RawMessage
		Salt     *string
	}
	if err := json.Unmarshal(line, &said); err != nil {
		return p, fmt.Errorf("line of event %d: %w", seq, err)
	}
	if said.Seq != seq {
		return p, fmt.Errorf("line of event %d contains event %d", seq, said.Seq)
	}
	if p.data, err = bare(said.Data); err != nil || p.data == nil {
		return p, err
	}
	if p.original, err = bare(said.Original); err != nil {
		return p, err
	}
	if said.Salt != nil {
		p.salt, err = hex.DecodeString(*said.Salt)
	}
	return p, err
}

// bare returns a payload as it was stored: one that does not fit on a line is archived as a JSON string.
func bare(value json.RawMessage) ([]byte, error) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil, nil
	case value[0] == '"':
		var s string
		err := json.Unmarshal(value, &s)
		return []byte(s), err
	}
	return value, nil
}
