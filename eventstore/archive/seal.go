package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// A frame ends after this many events, or with the event that exceeds the size. Reading one event unpacks one frame.
const (
	frameEvents = 1000
	frameBytes  = 1 << 20
)

// Seal writes the events first to last of a log into a new archive, reads it back, and publishes its manifest;
// everything is on disk when it returns. It does not blank the events in the log. The events must have their payloads
// or be redacted. An existing valid archive of exactly this range is reused. Leftovers of killed processes are
// removed. Errors: *OverlapError, *eventstore.DiskFullError, and those of log.
func (d *Dir) Seal(ctx context.Context, log eventstore.Reader, first, last int64, now time.Time, tell func(done, total int64)) (Manifest, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if first < 1 || last < first {
		return Manifest{}, &eventstore.InvalidError{Field: "range", Value: rangeName(first, last), HintText: "give both the first and the last event"}
	}
	m, err := d.seal(ctx, log, first, last, now, tell)
	if err != nil {
		return Manifest{}, d.diskError(fmt.Errorf("archive events %d to %d: %w", first, last, err))
	}
	return m, nil
}

func (d *Dir) seal(ctx context.Context, log eventstore.Reader, first, last int64, now time.Time, tell func(done, total int64)) (m Manifest, err error) {
	if err := d.make(); err != nil {
		return m, err
	}
	if err := d.sweep(); err != nil {
		return m, err
	}
	all, err := d.cachedList()
	if err != nil {
		return m, err
	}
	if k := overlapping(all, first, last); k != nil {
		return m, &OverlapError{First: first, Last: last, File: k.File}
	}
	if k, _, ok := covering(all, first); ok {
		if k.err != nil {
			return m, k.err
		}
		return k.Manifest, d.Verify(ctx, k.Manifest)
	}
	w, err := d.create(rangeName(first, last)+archiveSuffix, first, last)
	if err != nil {
		return m, err
	}
	if m, err = w.fill(ctx, log, tell); err != nil {
		return m, errors.Join(err, w.drop())
	}
	m.CreatedAt = now.UTC().Truncate(time.Millisecond)
	if err := w.finish(); err != nil {
		return m, err
	}
	if err := d.Verify(ctx, m); err != nil {
		return m, err
	}
	return m, d.publish(&m)
}

// make creates the directory durably, accessible to its owner only.
func (d *Dir) make() error {
	if _, err := os.Stat(d.path); err == nil {
		return nil
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(d.path))
}

// diskError converts an out-of-space error to *eventstore.DiskFullError.
func (d *Dir) diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return &eventstore.DiskFullError{Path: d.path, Err: err}
	}
	return err
}

// writer writes an archive under a temporary name.
type writer struct {
	dir    *Dir
	packer *packer
	file   *os.File
	sum    hash.Hash
	m      Manifest

	raw, packed []byte // current frame
	first       int64  // its first event; 0 if the frame is empty
	events      int    // events in it
	prev        eventstore.Event
}

func (d *Dir) create(name string, first, last int64) (*writer, error) {
	p, err := d.packer()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(d.path, name+unfinished), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &writer{dir: d, packer: p, file: f, sum: sha256.New(), m: Manifest{File: name, First: first, Last: last}}, nil
}

// fill writes the events of a log.
func (w *writer) fill(ctx context.Context, log eventstore.Reader, tell func(done, total int64)) (Manifest, error) {
	const page = 500
	if w.m.First > 1 {
		before, err := log.Event(ctx, w.m.First-1)
		if err != nil {
			return w.m, err
		}
		w.m.Before = before.Hash
	}
	for after := w.m.First - 1; after < w.m.Last; {
		if err := ctx.Err(); err != nil {
			return w.m, err
		}
		events, err := log.Read(ctx, after, int(min(page, w.m.Last-after)))
		if err != nil {
			return w.m, err
		}
		if len(events) == 0 {
			return w.m, fmt.Errorf("event %d: %w", after+1, eventstore.ErrNotFound)
		}
		for i := range events {
			if err := w.add(&events[i]); err != nil {
				return w.m, err
			}
		}
		after = events[len(events)-1].Seq
		if tell != nil {
			tell(after-w.m.First+1, w.m.Last-w.m.First+1)
		}
	}
	return w.end()
}

// add writes the next event.
func (w *writer) add(e *eventstore.Event) error {
	if w.m.Events == 0 {
		w.prev = eventstore.Event{Seq: w.m.First - 1, Hash: w.m.Before}
	}
	if err := follows(&w.prev, e); err != nil {
		return err
	}
	if w.first == 0 {
		w.first = e.Seq
	}
	w.raw = append(ndjson.AppendFull(w.raw, e), '\n')
	w.m.Events++
	w.events++
	w.prev = eventstore.Event{Seq: e.Seq, Hash: e.Hash}
	if w.events >= frameEvents || len(w.raw) >= frameBytes {
		return w.flush()
	}
	return nil
}

// flush compresses and writes the current frame.
func (w *writer) flush() error {
	if w.first == 0 {
		return nil
	}
	w.packed = w.packer.enc.EncodeAll(w.raw, w.packed[:0])
	if _, err := w.file.Write(w.packed); err != nil {
		return err
	}
	w.sum.Write(w.packed)
	w.m.Frames = append(w.m.Frames, Frame{First: w.first, Offset: w.m.Bytes, Bytes: int64(len(w.packed))})
	w.m.Bytes += int64(len(w.packed))
	w.m.RawBytes += int64(len(w.raw))
	w.raw, w.first, w.events = w.raw[:0], 0, 0
	return nil
}

func (w *writer) end() (Manifest, error) {
	err := w.flush()
	w.m.Head, w.m.SHA256 = w.prev.Hash, hex.EncodeToString(w.sum.Sum(nil))
	return w.m, err
}

// finish syncs the file and gives it its final name.
func (w *writer) finish() error {
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return errors.Join(err, os.Remove(w.file.Name()))
	}
	return durable.Rename(w.file.Name(), filepath.Join(w.dir.path, w.m.File))
}

// drop removes what was written so far.
func (w *writer) drop() error { return errors.Join(w.file.Close(), os.Remove(w.file.Name())) }

// follows returns an error if an event cannot be the successor of prev, or its payload does not match its hash.
func follows(prev, e *eventstore.Event) error {
	switch {
	case e.Seq != prev.Seq+1:
		return fmt.Errorf("event %d comes after %d", e.Seq, prev.Seq)
	case !e.Redacted() && eventstore.PayloadHash(e.Salt, e.Data, e.Original) != e.DataHash:
		return fmt.Errorf("event %d: payload differs from the one appended", e.Seq)
	case eventstore.ChainHash(prev.Hash, e) != e.Hash:
		return fmt.Errorf("event %d: hash does not link to the previous event", e.Seq)
	}
	return nil
}
