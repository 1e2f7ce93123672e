package workspace

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Options of New. All may be left out.
type Options struct {
	Now        func() time.Time // the clock by which the file system stamps files; default: time.Now
	CacheBytes int64            // how much is kept of what was read; default: DefaultCacheBytes
	ReadBytes  int64            // how many bytes of files one Reading reads; default: DefaultReadBytes

	// Reserved are paths of files that are neither read nor replaced, wherever they lie, and no more is what lies beside them under names
	// that begin like theirs: the database. In ReservedDirs nothing is written.
	Reserved, ReservedDirs []string
}

// DefaultCacheBytes is the default of Options.CacheBytes.
const DefaultCacheBytes = 64 << 20

// Dir is a state directory. It need not exist, and may come and go. It is safe for concurrent use.
type Dir struct {
	path      string
	now       func() time.Time
	reserved  reserved
	cache     *cache
	readBytes int64
	entries   int           // of one directory that are looked at
	readings  chan struct{} // holds one for each that goes on
	parsed    atomic.Int64  // files
	writes    atomic.Int64  // begun
}

// New returns the state directory at path. With path "" there never is one.
func New(path string, opts Options) *Dir {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	return &Dir{path: path, now: opts.Now, reserved: reserved{opts.Reserved, opts.ReservedDirs}, cache: newCache(cmp.Or(opts.CacheBytes, DefaultCacheBytes)),
		readBytes: cmp.Or(opts.ReadBytes, DefaultReadBytes), entries: maxEntries, readings: make(chan struct{}, maxReadings)}
}

// open opens the state directory itself, which may be reached by a link.
func (d *Dir) open() (*folder, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	return &folder{root: root, dir: d}, nil
}

// in opens a directory some steps below the state directory, and calls use with it. There being none is fs.ErrNotExist.
func (d *Dir) in(names []string, use func(*folder) error) error {
	top, err := d.open()
	if err != nil {
		return err
	}
	defer top.close()
	f, err := top.down(names...)
	if err != nil {
		return err
	}
	if f != top {
		defer f.close()
	}
	return use(f)
}

// parsed returns what parse makes of a file: what it made before, if the file is the same.
func parsed[T any](d *Dir, f *folder, name string, parse func(text string) T) (T, error) {
	info, err := f.lookAtFile(name)
	if err != nil {
		var none T
		return none, err
	}
	return parsedFile(d, f, name, info, parse)
}

// parsedFile is parsed for a file that was looked at.
func parsedFile[T any](d *Dir, f *folder, name string, info fs.FileInfo, parse func(text string) T) (T, error) {
	path := f.at(name)
	old, known := d.cache.get(path)
	if known && !old.fresh && old.identity == identityOf(info) {
		return old.value.(T), nil
	}
	now := d.now()
	text, info, err := f.read(name, info)
	if err != nil {
		var none T
		return none, err
	}
	item := &cached{path: path, identity: identityOf(info), sum: sha256.Sum256(text)}
	item.fresh = item.identity.isFresh(now)
	if known && old.sum == item.sum {
		item.value = old.value
	} else {
		d.parsed.Add(1)
		item.value = parse(clean(text))
	}
	d.cache.put(item)
	return item.value.(T), nil
}

// clean makes text of bytes.
func clean(b []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimPrefix(b, []byte("\uFEFF"))), "\uFFFD")
}

// isMissing reports whether there is nothing, which is no fault. A directory in the way of a path is nothing too.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// faultOf says for an answer why a file is left out. What the system says is not for everybody.
func faultOf(path string, err error) Fault {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return Fault{File: path, Error: refused.Reason}
	}
	return Fault{File: path, Error: "it cannot be read"}
}
