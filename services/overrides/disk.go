package overrides

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/internal/durable"
)

const maxBytes = 4 << 20

type file struct {
	exists   bool
	text     []byte
	info     fs.FileInfo
	modified time.Time
	entries  entries
	bad      []badEntry
}

// statFile examines the file at path without opening it. A missing file is no error; one that is also the database, under any name, is.
func statFile(path, database string) (*file, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &file{}, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case isSame(info, database):
		return nil, errors.New("it is the database")
	}
	return &file{exists: true, info: info, modified: info.ModTime()}, nil
}

// read examines and reads the file at path.
func read(path, database string) (*file, error) {
	f, err := statFile(path, database)
	if err != nil || !f.exists {
		return f, err
	}
	if size := f.info.Size(); size > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, maxBytes)
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if f.text, err = io.ReadAll(io.LimitReader(opened, maxBytes+1)); err != nil {
		return nil, err
	}
	if len(f.text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return f, nil
}

func isSame(info fs.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// errChanged reports that the file was replaced between look and read or write.
var errChanged = errors.New("the file was changed meanwhile")

// replace atomically replaces the file that was examined. A change in the instant between the check and the rename is not noticed.
func (f *file) replace(path string, text []byte) error {
	const fresh = 0o644
	return f.replaceAs(path, text, fresh)
}

// replaceAs is replace with a mode for a new file.
func (f *file) replaceAs(path string, text []byte, fresh fs.FileMode) error {
	mode := fresh
	if f.exists {
		mode = f.info.Mode().Perm()
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	written, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = written.Write(text)
	if err == nil && f.exists {
		err = written.Chmod(mode)
	}
	if err == nil {
		err = written.Sync()
	}
	if err = errors.Join(err, written.Close()); err == nil && !f.isStillThere(path) {
		err = errChanged
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return durable.SyncDir(filepath.Dir(path))
}

func (f *file) isStillThere(path string) bool {
	info, err := os.Lstat(path)
	if !f.exists {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(info, f.info) && info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime())
}
