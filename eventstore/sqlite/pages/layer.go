package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// Dir is a directory of layers. Its methods may be called concurrently.
type Dir struct {
	path  string
	bytes atomic.Int64
}

// NewDir makes the directory if it does not exist.
func NewDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of layers: %w", err)
	}
	return DirAt(path), nil
}

// DirAt returns a directory that is made with its first layer.
func DirAt(path string) *Dir { return &Dir{path: path} }

// Bytes is the size of all open layers.
func (d *Dir) Bytes() int64 { return d.bytes.Load() }

// unfinished is the beginning of the names of layers that are not kept.
const unfinished = "layer-"

// Layer is a set of pages in a file of its own. Once sealed it does not change, and may be read concurrently. It is
// closed by Release; unless it was kept, its file is then removed.
type Layer struct {
	dir     *Dir
	file    *os.File
	numbers []uint32          // page number of each slot of the file
	sums    []uint32          // checksum of each slot
	slots   map[uint32]uint32 // slot of each page; nil if the layer was opened
	size    uint32            // pages of the database
	bytes   int64             // of the file
	damaged atomic.Bool

	mu     sync.Mutex
	refs   int
	path   string
	kept   bool
	sealed bool
}

// newLayer returns an empty layer of a database with size pages. It makes the directory if that was removed.
func (d *Dir) newLayer(size uint32) (*Layer, error) {
	path := filepath.Join(d.path, unfinished+strings.ToLower(rand.Text()))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(d.path, 0o700); err == nil {
			file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a layer: %w", err)
	}
	return &Layer{dir: d, file: file, path: path, slots: map[uint32]uint32{}, size: size, refs: 1}, nil
}

// Bytes is the size of its file.
func (l *Layer) Bytes() int64 { return l.bytes }

// Pages is the number of pages of the whole database.
func (l *Layer) Pages() int64 { return int64(l.size) }

// Changed is the number of pages that the layer holds.
func (l *Layer) Changed() int { return len(l.numbers) }

// Damaged reports whether a read has found another content than the one written.
func (l *Layer) Damaged() bool { return l.damaged.Load() }

// Retain adds a user.
func (l *Layer) Retain() *Layer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refs++
	return l
}

// Release ends a use. The last one closes the file.
func (l *Layer) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refs--; l.refs > 0 {
		return nil
	}
	l.dir.bytes.Add(-l.bytes)
	err := l.file.Close()
	if !l.kept {
		if gone := os.Remove(l.path); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Remove removes the file, at once where the system allows that for an open file, else with the last Release.
func (l *Layer) Remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = false
	_ = os.Remove(l.path) // Release tries again
}

func (l *Layer) grow(bytes int64) {
	l.bytes += bytes
	l.dir.bytes.Add(bytes)
}

// checksums uses CRC-32C, which processors compute in hardware.
var checksums = crc32.MakeTable(crc32.Castagnoli)

// write stores a page.
func (l *Layer) write(page uint32, content []byte) error {
	if l.sealed {
		return errSealed
	}
	slot, known := l.slots[page]
	if !known {
		slot = uint32(len(l.numbers))
	}
	if _, err := l.file.WriteAt(content, int64(slot)*Size); err != nil {
		return err
	}
	sum := crc32.Checksum(content, checksums)
	if known {
		l.sums[slot] = sum
		return nil
	}
	l.slots[page], l.numbers, l.sums = slot, append(l.numbers, page), append(l.sums, sum)
	l.grow(Size)
	return nil
}

// read returns the content of a slot.
func (l *Layer) read(slot uint32, into []byte) error {
	if _, err := l.file.ReadAt(into, int64(slot)*Size); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrDamaged
			l.damaged.Store(true)
		}
		return err
	}
	if crc32.Checksum(into, checksums) != l.sums[slot] {
		l.damaged.Store(true)
		return ErrDamaged
	}
	return nil
}

// The end of a kept file: the page numbers and checksums of its slots, a note of the caller, and a footer. All numbers
// are little-endian.
const (
	magic      = "oclpages"
	footerSize = 8 + 4 + 4 + 4 + 4 // magic, slots, pages, length of the note, checksum of all since the last slot
	maxNote    = 1 << 20
)

// Keep writes the layer to disk under a name in its directory, with a note for OpenLayer. A file of that name is
// replaced. A power cut leaves it whole or not at all.
func (l *Layer) Keep(name string, note []byte) error {
	if len(note) > maxNote {
		return fmt.Errorf("a note of %d bytes is too long", len(note))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sealed || l.kept {
		return errors.New("only a sealed layer can be kept, and only once")
	}
	var end bytes.Buffer
	for _, list := range [][]uint32{l.numbers, l.sums} {
		_ = binary.Write(&end, binary.LittleEndian, list) // a Buffer takes everything
	}
	end.Write(note)
	end.WriteString(magic)
	_ = binary.Write(&end, binary.LittleEndian, []uint32{uint32(len(l.numbers)), l.size, uint32(len(note))})
	_ = binary.Write(&end, binary.LittleEndian, crc32.Checksum(end.Bytes(), checksums))
	if _, err := l.file.WriteAt(end.Bytes(), int64(len(l.numbers))*Size); err != nil {
		return fmt.Errorf("write a layer: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync a layer: %w", err)
	}
	path := filepath.Join(l.dir.path, name)
	if err := durable.Rename(l.path, path); err != nil {
		_ = os.Remove(path) // renamed, but the directory was not synced
		return fmt.Errorf("keep a layer: %w", err)
	}
	l.path, l.kept = path, true
	l.grow(int64(end.Len()))
	return nil
}

// OpenLayer opens a kept layer. Error: ErrDamaged, fs.ErrNotExist.
func (d *Dir) OpenLayer(name string) (l *Layer, note []byte, err error) {
	path := filepath.Join(d.path, name)
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	l = &Layer{dir: d, file: file, path: path, refs: 1, kept: true, sealed: true}
	if note, err = l.readEnd(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	d.bytes.Add(l.bytes)
	return l, note, nil
}

func (l *Layer) readEnd() (note []byte, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	l.bytes = info.Size()
	if l.bytes < footerSize {
		return nil, ErrDamaged
	}
	footer := make([]byte, footerSize)
	if _, err := l.file.ReadAt(footer, l.bytes-footerSize); err != nil {
		return nil, err
	}
	number := binary.LittleEndian.Uint32
	slots, length := int64(number(footer[8:])), int64(number(footer[16:]))
	from := slots * Size
	if string(footer[:8]) != magic || length > maxNote || l.bytes != from+slots*8+length+footerSize {
		return nil, ErrDamaged
	}
	end := make([]byte, l.bytes-from)
	if _, err := l.file.ReadAt(end, from); err != nil {
		return nil, err
	}
	if crc32.Checksum(end[:len(end)-4], checksums) != number(footer[20:]) {
		return nil, ErrDamaged
	}
	l.size = number(footer[12:])
	l.numbers, l.sums = make([]uint32, slots), make([]uint32, slots)
	in := bytes.NewReader(end)
	for _, list := range [][]uint32{l.numbers, l.sums} {
		if err := binary.Read(in, binary.LittleEndian, list); err != nil {
			return nil, err
		}
	}
	return end[slots*8 : slots*8+length], nil
}

// mergedAtOnce is the number of pages that Merge copies before it looks whether it is cancelled.
const mergedAtOnce = 256

// Merge returns a layer with what lower and the layer directly above it change together. It ends early with the cause of
// ctx.
func Merge(ctx context.Context, lower, upper *Layer) (_ *Layer, err error) {
	merged, err := lower.dir.newLayer(upper.size)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, merged.Release())
		}
	}()
	above := make(map[uint32]bool, len(upper.numbers))
	content := make([]byte, Size)
	copyFrom := func(l *Layer, wanted func(page uint32) bool) error {
		for slot, page := range l.numbers {
			if slot%mergedAtOnce == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !wanted(page) {
				continue
			}
			if err := l.read(uint32(slot), content); err != nil {
				return err
			}
			if err := merged.write(page, content); err != nil {
				return err
			}
		}
		return nil
	}
	for _, page := range upper.numbers {
		above[page] = true
	}
	if err := copyFrom(lower, func(page uint32) bool { return !above[page] && page <= upper.size }); err != nil {
		return nil, err
	}
	if err := copyFrom(upper, func(page uint32) bool { return page <= upper.size }); err != nil {
		return nil, err
	}
	merged.sealed = true
	return merged, nil
}

// Shared is the number of pages that a layer and the one above it both hold: what Merge saves.
func Shared(lower, upper *Layer) (n int) {
	above := slices.Sorted(slices.Values(upper.numbers))
	for _, page := range lower.numbers {
		if _, found := slices.BinarySearch(above, page); found {
			n++
		}
	}
	return n
}
