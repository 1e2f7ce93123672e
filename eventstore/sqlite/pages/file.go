package pages

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// File is a database that SQLite opens by Path with the VFS of this package. A writable one has at most one
// connection, without a journal, and is sealed between its transactions.
type File struct {
	path  string
	dir   *Dir // nil: read-only
	image *Image
	top   *Layer // what was written since the image; nil: nothing
	size  uint32

	failed atomic.Pointer[error] // why the newest read or write failed
}

// files are the open files by path.
var (
	files   sync.Map // of *File
	fileNum atomic.Int64
)

// NewFile opens an image to write further layers above it; nil is an empty database. The image may be closed.
func (d *Dir) NewFile(image *Image) (*File, error) { return newFile(d, image) }

// Open opens the image read-only, for any number of connections. The image may be closed.
func (i *Image) Open() (*File, error) { return newFile(nil, i) }

func newFile(dir *Dir, image *Image) (*File, error) {
	if err := register(); err != nil {
		return nil, err
	}
	if image == nil {
		image = NewImage()
	} else {
		image = image.Clone()
	}
	f := &File{path: "/pages/" + strconv.FormatInt(fileNum.Add(1), 10), dir: dir, image: image, size: image.size}
	files.Store(f.path, f)
	return f, nil
}

// Path is the name that SQLite knows.
func (f *File) Path() string { return f.path }

// Failed is why SQLite last saw an I/O error of this file; nil if it has not.
func (f *File) Failed() error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close makes the path unknown. Its connections must be closed.
func (f *File) Close() error {
	files.Delete(f.path)
	err := f.image.Close()
	if f.top != nil {
		err = errors.Join(err, f.top.Release())
	}
	f.top = nil
	return err
}

// Seal makes a layer of what was written since the last Seal, and returns the state up to now. No transaction may be
// open.
func (f *File) Seal() (*Image, error) {
	if f.top == nil {
		if f.size != f.image.size {
			return nil, errors.New("the database became shorter without a write")
		}
		return f.image.Clone(), nil
	}
	f.top.size, f.top.sealed = f.size, true
	next := f.image.with(f.top)
	err := errors.Join(f.image.Close(), f.top.Release())
	f.image, f.top = next, nil
	if err != nil {
		return nil, fmt.Errorf("seal a layer: %w", err)
	}
	return f.image.Clone(), nil
}

// readAt fills into from an offset. What is beyond the end is zero; whole says whether nothing was.
func (f *File) readAt(into []byte, offset int64) (whole bool, err error) {
	page, within := uint32(offset/Size)+1, int(offset%Size)
	if within+len(into) > Size {
		return false, fmt.Errorf("a read of %d bytes at %d crosses pages", len(into), offset)
	}
	if page > f.size {
		clear(into)
		return false, nil
	}
	if len(into) == Size {
		return true, f.readPage(page, into)
	}
	content := make([]byte, Size)
	err = f.readPage(page, content)
	copy(into, content[within:])
	return true, err
}

func (f *File) readPage(page uint32, into []byte) error {
	if f.top != nil {
		if slot, found := f.top.slots[page]; found {
			return f.top.read(slot, into)
		}
	}
	err := f.image.read(page, into)
	if errors.Is(err, errUnknown) { // skipped when the database grew
		clear(into)
		return nil
	}
	return err
}

func (f *File) writeAt(content []byte, offset int64) (err error) {
	switch {
	case f.dir == nil:
		return errReadOnly
	case len(content) != Size || offset%Size != 0:
		return fmt.Errorf("a write of %d bytes at %d is not one page", len(content), offset)
	}
	if f.top == nil {
		if f.top, err = f.dir.newLayer(f.size); err != nil {
			return err
		}
	}
	page := uint32(offset/Size) + 1
	if err := f.top.write(page, content); err != nil {
		return err
	}
	f.size = max(f.size, page)
	return nil
}

// Fill makes a database of that content of an empty file that is not yet open.
func (f *File) Fill(database []byte) error {
	for at := 0; at < len(database); at += Size {
		if err := f.writeAt(database[at:min(at+Size, len(database))], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) truncate(bytes int64) error {
	if f.dir == nil {
		return errReadOnly
	}
	f.size = uint32(bytes / Size)
	return nil
}
