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

// Options configures New. All are optional.
type Options struct {
	Now        func() time.Time // clock of the file system's time stamps; default: time.Now
	CacheBytes int64            // size of the cache; default: DefaultCacheBytes
	ReadBytes  int64            // most bytes of files that one Reader reads; default: DefaultReadBytes

	// Reserved are paths of files that are never read or replaced, nor are files beside them whose names start like theirs: the database.
	// In ReservedDirs nothing is written.
	Reserved, ReservedDirs []string
}

// DefaultCacheBytes is the default of Options.CacheBytes.
const DefaultCacheBytes = 64 << 20

// Dir is a state directory. It need not exist, and may appear and disappear. It is safe for concurrent use.
type Dir struct {
	path      string
	now       func() time.Time
	reserved  reserved
	cache     *cache
	readBytes int64
	entries   int           // most entries of one directory
	readers   chan struct{} // holds one token per active Reader
	parsed    atomic.Int64  // number of files
	writes    atomic.Int64  // number of Readers
}

// New returns the state directory at path. With path "" it never exists.
func New(path string, opts Options) *Dir {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		path = abs
	}
	return &Dir{path: path, now: opts.Now, reserved: reserved{opts.Reserved, opts.ReservedDirs}, cache: newCache(cmp.Or(opts.CacheBytes, DefaultCacheBytes)),
		readBytes: cmp.Or(opts.ReadBytes, DefaultReadBytes), entries: maxEntries, readers: make(chan struct{}, maxReadings)}
}

// open opens the state directory itself, which may be a symbolic link.
func (d *Dir) open() (*folder, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("open the directory: %w", err)
	}
	return &folder{root: root, dir: d}, nil
}

// in opens a directory some levels below the state directory, and calls use with it. If it is missing the error is
// fs.ErrNotExist.
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

// parsed returns the parsed file, from the cache if the file is unchanged.
func parsed[T any](d *Dir, f *folder, name string, parse func(text string) T) (T, error) {
	info, err := f.statFile(name)
	if err != nil {
		var none T
		return none, err
	}
	return parsedFile(d, f, name, info, parse)
}

// parsedFile is parsed for a file whose info is known.
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
	item := &cacheItem{path: path, identity: identityOf(info), sum: sha256.Sum256(text)}
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

// clean turns bytes into valid text.
func clean(b []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimPrefix(b, []byte("\uFEFF"))), "\uFFFD")
}

// isMissing reports whether a file does not exist, which is no fault. A non-directory within the path counts as
// missing too.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// faultOf says in an answer why a file is left out. System errors are not shown to clients.
func faultOf(path string, err error) Fault {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return Fault{File: path, Error: refused.Reason}
	}
	return Fault{File: path, Error: "it cannot be read"}
}
