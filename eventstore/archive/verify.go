package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// Verify reads a whole archive and checks it against its manifest and its own chain: size, SHA-256, every payload
// against its hash, every hash against the previous one. It returns an *eventstore.ArchivedError that names the first
// mismatch.
func (d *Dir) Verify(ctx context.Context, m Manifest) error {
	err := d.each(ctx, &m, nil)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return d.unreadable(&m, err)
}

// each reads and checks all events of an archive and passes them to use, which may be nil, up to the first mismatch.
func (d *Dir) each(ctx context.Context, m *Manifest, use func(*eventstore.Event) error) error {
	if err := m.check(m.First, m.Last); err != nil {
		return fmt.Errorf("its manifest: %w", err)
	}
	file, err := os.Open(filepath.Join(d.path, m.File))
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	bytes, err := io.Copy(sum, file)
	switch {
	case err != nil:
		return err
	case bytes != m.Bytes:
		return fmt.Errorf("file has %d bytes, manifest says %d", bytes, m.Bytes)
	case hex.EncodeToString(sum.Sum(nil)) != m.SHA256:
		return errors.New("SHA-256 differs from the manifest")
	}
	prev, raw := eventstore.Event{Seq: m.First - 1, Hash: m.Before}, int64(0)
	for i := range m.Frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := d.unpack(file, m.Frames[i])
		if err != nil {
			return err
		}
		f, err := newFrame(text, m.Frames[i].First, m.until(i))
		if err != nil {
			return err
		}
		for seq := f.first; seq <= m.until(i); seq++ {
			e, ok := ndjson.ReadFull(f.line(seq))
			if !ok {
				return fmt.Errorf("line of event %d cannot be read", seq)
			}
			if err := follows(&prev, e); err != nil {
				return err
			}
			if use != nil {
				if err := use(e); err != nil {
					return err
				}
			}
			prev = eventstore.Event{Seq: e.Seq, Hash: e.Hash}
		}
		raw += int64(len(text))
	}
	switch {
	case prev.Hash != m.Head:
		return fmt.Errorf("last hash is %s, manifest says %s", prev.Hash, m.Head)
	case raw != m.RawBytes:
		return fmt.Errorf("unpacks to %d bytes, manifest says %d", raw, m.RawBytes)
	}
	return nil
}
