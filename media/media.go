// Package media keeps files beside the log. A file is found by the SHA-256 of its content alone, so that no name leads out of the
// directory, the same file is kept once, and a changed one is noticed.
//
// A file has its name when it is complete and on disk: an event that names it is appended after that. A kill leaves at most unfinished
// files, which Clean removes.
package media

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// ErrTooLarge is the error of a file over the limit of its channel.
var ErrTooLarge = errors.New("the file is too large")

// ErrFull is the error of a file for which the store has no room.
var ErrFull = errors.New("the store of files is full")

// Store is a directory of files. Its methods are safe for concurrent use in one process.
type Store struct {
	dir  string
	most func() int64 // bytes of all files

	mu    sync.Mutex // held while files get or lose their names
	total int64      // bytes of all files; -1: not known yet
}

// Open returns the store in a directory, which is made with the first file. most is the limit in force for all files together; it
// is needed by Put only.
func Open(dir string, most func() int64) *Store { return &Store{dir: dir, most: most, total: -1} }

// Info is a stored file.
type Info struct {
	SHA256 string
	Bytes  int64
	Type   string    // found from the content; application/octet-stream if that says nothing
	At     time.Time // when it was stored last
}

// IsID reports whether a text can be the name of a stored file: the SHA-256 of its content in hexadecimal digits.
func IsID(id string) bool {
	if len(id) != hex.EncodedLen(sha256.Size) {
		return false
	}
	return strings.Trim(id, "0123456789abcdef") == ""
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id) }

const unfinished = ".part"

// Put stores what fetch writes, at most most bytes. When it returns, the file and its name are on disk. Errors are ErrTooLarge,
// ErrFull, that of fetch, or the file system's.
func (s *Store) Put(most int64, fetch func(io.Writer) error) (_ Info, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return Info{}, fmt.Errorf("make the directory of files: %w", err)
	}
	part, err := os.CreateTemp(s.dir, "*"+unfinished)
	if err != nil {
		return Info{}, fmt.Errorf("store a file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	w := &writer{to: part, sum: sha256.New(), left: most}
	err = fetch(w)
	if w.over {
		err = ErrTooLarge
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return Info{}, err
	}
	info := Info{SHA256: hex.EncodeToString(w.sum.Sum(nil)), Bytes: w.written, Type: typeOf(w.head)}
	return info, s.name(part.Name(), &info)
}

// name gives a complete file its name. One that is there already counts as stored now.
func (s *Store) name(part string, info *Info) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path(info.SHA256)
	now := time.Now()
	info.At = now
	if is, err := os.Lstat(path); err == nil && is.Mode().IsRegular() && is.Size() == info.Bytes {
		return errors.Join(os.Chtimes(path, now, now), os.Remove(part))
	}
	if err := s.count(); err != nil {
		return err
	}
	if most := s.most(); s.total+info.Bytes > most {
		return fmt.Errorf("%w: %d bytes are kept, and %d are allowed", ErrFull, s.total, most)
	}
	if err := durable.Rename(part, path); err != nil {
		return fmt.Errorf("store a file: %w", err)
	}
	s.total += info.Bytes
	return durable.SyncDir(filepath.Dir(s.dir)) // the directory may be new
}

// count finds out how many bytes are kept. The lock is held.
func (s *Store) count() error {
	if s.total >= 0 {
		return nil
	}
	all, err := s.list()
	if err != nil {
		return err
	}
	s.total = 0
	for i := range all {
		s.total += all[i].Bytes
	}
	return nil
}

// headBytes is how much of a content is looked at for its type.
const headBytes = 512

// writer counts and hashes a content.
type writer struct {
	to      io.Writer
	sum     hash.Hash
	head    []byte
	written int64
	left    int64
	over    bool
}

func (w *writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		w.over = true
		return 0, ErrTooLarge
	}
	w.left -= int64(len(p))
	if room := headBytes - len(w.head); room > 0 {
		w.head = append(w.head, p[:min(room, len(p))]...)
	}
	_, _ = w.sum.Write(p) // a hash never fails
	n, err := w.to.Write(p)
	w.written += int64(n)
	return n, err
}

func typeOf(head []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}

// File is a stored file, open to be read.
type File struct {
	*os.File
	Info Info
}

// Get opens a stored file. An error that is fs.ErrNotExist says that there is none of that name.
func (s *Store) Get(id string) (*File, error) {
	if !IsID(id) {
		return nil, fmt.Errorf("file %.80q: %w", id, fs.ErrNotExist)
	}
	is, err := os.Lstat(s.path(id))
	if err == nil && !is.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	f, err := os.Open(s.path(id))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{f, Info{SHA256: id, Bytes: is.Size(), Type: typeOf(head[:n]), At: is.ModTime()}}, nil
}

// Read returns the content of a stored file of at most most bytes, after it has compared the content with the name.
func (s *Store) Read(id string, most int64) ([]byte, error) {
	f, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Info.Bytes > most {
		return nil, fmt.Errorf("file %s: %w", id, ErrTooLarge)
	}
	content, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", id, err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != id {
		return nil, fmt.Errorf("file %s: its content was changed", id)
	}
	return content, nil
}
