package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Limits of reads.
const (
	MaxFileBytes = 4 << 20
	maxEntries   = 20_000 // of one directory
)

// folder is a directory that was reached without following a link. It must be closed.
type folder struct {
	root *os.Root
	path string // relative to the state directory; "" for itself
	dir  *Dir
}

func (f *folder) close() { _ = f.root.Close() }

func (f *folder) at(name string) string { return path.Join(f.path, name) }

func (f *folder) refuse(name, reason string) error {
	return &RefusedError{Path: f.at(name), Reason: reason}
}

// stat returns what lies at name. It follows no link, and refuses reserved files.
func (f *folder) stat(name string) (fs.FileInfo, error) {
	if !isName(name) {
		return nil, f.refuse(name, ReasonName)
	}
	if f.isOurs(name) {
		return nil, f.refuse(name, ReasonOurs)
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.at(name), cause(err))
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, f.refuse(name, ReasonLink)
	}
	return info, nil
}

// sub opens a directory in the folder. The error is fs.ErrNotExist if it is missing.
func (f *folder) sub(name string) (*folder, error) {
	seen, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, f.refuse(name, ReasonFolder)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, f.unopened(name, err)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(seen, opened) { // OpenRoot follows links: this one was created after the stat
		_ = root.Close()
		return nil, f.refuse(name, ReasonMoved)
	}
	return &folder{root: root, path: f.at(name), dir: f.dir}, nil
}

// down is sub for several levels.
func (f *folder) down(names ...string) (*folder, error) {
	at := f
	for _, name := range names {
		next, err := at.sub(name)
		if at != f {
			at.close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// list returns the sorted names in the folder for which want is true, and whether there are more entries than the
// limit.
func (f *folder) list(want func(fs.DirEntry) bool) (names []string, more bool, err error) {
	return listed(f, (*os.File).ReadDir, fs.DirEntry.Name, want)
}

// names is list without the kinds of the entries, for which some file systems have to be asked about each entry.
func (f *folder) names(want func(name string) bool) (names []string, more bool, err error) {
	return listed(f, (*os.File).Readdirnames, func(name string) string { return name }, want)
}

func listed[E any](f *folder, read func(*os.File, int) ([]E, error), nameOf func(E) string, want func(E) bool) (names []string, more bool, err error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", f.path, cause(err))
	}
	defer dir.Close()
	entries, err := read(dir, f.dir.entries+1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("list %s: %w", f.path, cause(err))
	}
	more = len(entries) > f.dir.entries
	for _, e := range entries[:min(len(entries), f.dir.entries)] {
		if name := nameOf(e); isName(name) && want(e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, more, nil
}

// files lists the regular files with an extension; "" for any.
func (f *folder) files(extension string) (names []string, more bool, err error) {
	return f.list(func(e fs.DirEntry) bool { return e.Type().IsRegular() && strings.HasSuffix(e.Name(), extension) })
}

// statFile is stat for regular files within the size limit.
func (f *folder) statFile(name string) (fs.FileInfo, error) {
	info, err := f.stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, f.refuse(name, ReasonSpecial)
	case info.Size() > MaxFileBytes:
		return nil, f.refuse(name, ReasonSize)
	}
	return info, nil
}

// read reads the regular file that was found as seen, and returns its info as of the start of reading.
func (f *folder) read(name string, seen fs.FileInfo) ([]byte, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe put there meanwhile
	if err != nil {
		return nil, nil, f.unopened(name, err)
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("look at %s: %w", f.at(name), cause(err))
	}
	if !os.SameFile(seen, opened) {
		return nil, nil, f.refuse(name, ReasonMoved)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", f.at(name), cause(err))
	}
	if len(text) > MaxFileBytes {
		return nil, nil, f.refuse(name, ReasonSize)
	}
	return text, opened, nil
}

// unopened says why something that existed a moment ago was not opened. A refusal by os.Root itself is not a system
// error.
func (f *folder) unopened(name string, err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) || system == syscall.ELOOP || system == syscall.ENOTDIR {
		return f.refuse(name, ReasonMoved)
	}
	return fmt.Errorf("open %s: %w", f.at(name), cause(err))
}

// cause removes the path, which callers add, from an error.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
