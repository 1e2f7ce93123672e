// Package archive keeps the payloads of old events in files beside the log: sealed ranges of compressed NDJSON, each
// with a manifest of hashes. Stores read archived payloads back transparently.
package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Dir is a directory of archives. It is safe for concurrent use. Only one process at a time may write to it; others
// may read meanwhile.
type Dir struct {
	path   string
	packer func() (*packer, error)

	writing sync.Mutex // held by Seal and Forget
	mu      sync.Mutex // guards what follows
	known   []known    // by range
	changed time.Time  // modification time of the directory when it was listed
	frames  frames
}

// Manifest describes one archive. It is stored beside the archive as JSON.
type Manifest struct {
	File      string          `json:"file"` // file name in the directory
	First     int64           `json:"first"`
	Last      int64           `json:"last"`
	Events    int64           `json:"events"`
	Before    eventstore.Hash `json:"before"` // chain hash of the event before First
	Head      eventstore.Hash `json:"head"`   // chain hash of Last
	SHA256    string          `json:"sha256"` // SHA-256 of the file
	Bytes     int64           `json:"bytes"`
	RawBytes  int64           `json:"rawBytes"` // uncompressed
	CreatedAt time.Time       `json:"createdAt"`
	Frames    []Frame         `json:"frames"`
}

// Frame is a part of an archive that can be read independently.
type Frame struct {
	First  int64 `json:"first"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Open returns the archives in a directory, which need not exist.
func Open(dir string) *Dir {
	return &Dir{path: dir, packer: sync.OnceValues(newPacker), frames: frames{most: cacheBytes}}
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// List reads the manifests, oldest range first. If some cannot be read, it returns the others with the error.
func (d *Dir) List() ([]Manifest, error) {
	all, err := d.cachedList()
	if err != nil {
		return nil, err
	}
	list := make([]Manifest, 0, len(all))
	var errs []error
	for i := range all {
		if all[i].err != nil {
			errs = append(errs, all[i].err)
			continue
		}
		list = append(list, all[i].Manifest)
	}
	return list, errors.Join(errs...)
}

// packer compresses and decompresses frames.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// maxFrameBytes bounds the unpacked size of a frame: one event of the largest size as a line, plus a frame that was
// almost full.
const maxFrameBytes = 128 << 20

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxFrameBytes))
	return &packer{enc, dec}, err
}

// missing reports whether an error says that a file does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// unreadable wraps the reason why an archive cannot be used as an *eventstore.ArchivedError.
func (d *Dir) unreadable(m *Manifest, err error) error {
	return &eventstore.ArchivedError{First: m.First, Last: m.Last, File: filepath.Join(d.path, m.File), Err: err}
}

// changedAt is the directory's modification time, or zero if the directory does not exist.
func (d *Dir) changedAt() (time.Time, error) {
	info, err := os.Stat(d.path)
	switch {
	case missing(err):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
