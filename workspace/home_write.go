package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Replace writes a file atomically, by renaming a new one over it: readers see the old content or the new, and when
// Replace returns the new content is synced to disk.
func (h *Home) Replace(name string, content []byte) error {
	below, base, err := homeName(name)
	if err != nil {
		return err
	}
	if len(content) > MaxFileBytes {
		return &RefusedError{Path: name, Reason: ReasonSize}
	}
	at, err := h.open()
	if err != nil {
		return err
	}
	defer func() { at.close() }()
	for _, name := range below {
		next, err := at.make(name)
		if err != nil {
			return err
		}
		at.close()
		at = next
	}
	return at.replace(base, content, h.dir.temporaryName)
}

// open opens the workspace itself, and creates it if missing.
func (h *Home) open() (*folder, error) {
	top, err := h.dir.open()
	if !isMissing(err) {
		return top, err
	}
	if err := makePath(h.dir.path); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	return h.dir.open()
}

// makePath is os.MkdirAll, with the new names synced to disk.
func makePath(path string) error {
	err := os.Mkdir(path, dirMode)
	parent := filepath.Dir(path)
	if isMissing(err) && parent != path {
		if err := makePath(parent); err != nil {
			return err
		}
		err = os.Mkdir(path, dirMode)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	above, err := New(parent, Options{}).open()
	if err != nil {
		return err
	}
	defer above.close()
	return above.sync()
}

// Remove removes a file. A missing file is no error.
func (h *Home) Remove(name string) error {
	err := h.at(name, func(f *folder, base string) error {
		if err := f.statRegular(base); err != nil {
			return err
		}
		if err := f.root.Remove(base); err != nil {
			return fmt.Errorf("remove %s: %w", f.at(base), cause(err))
		}
		return f.sync()
	})
	if isMissing(err) {
		return nil
	}
	return err
}

// conflictMark is appended to the name of a file that is put aside.
const conflictMark = ".conflict"

// KeepAside renames a file to <name>.conflict, or <name>.conflict-2 and so on if that exists, and returns its new name
// in the same directory.
func (h *Home) KeepAside(name string) (kept string, err error) {
	err = h.at(name, func(f *folder, base string) error {
		if err := f.statRegular(base); err != nil {
			return err
		}
		beside, err := f.unusedName(base + conflictMark)
		if err != nil {
			return err
		}
		if err := f.root.Rename(base, beside); err != nil {
			return fmt.Errorf("rename %s: %w", f.at(base), err)
		}
		kept = beside
		return f.sync()
	})
	return kept, err
}

// statRegular is stat for regular files of any size.
func (f *folder) statRegular(name string) error {
	info, err := f.stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return f.refuse(name, ReasonSpecial)
	}
	return err
}

// unusedName returns the name, or the first of name-2, name-3 and so on that does not exist.
func (f *folder) unusedName(name string) (string, error) {
	unused := name
	for n := 2; n <= f.dir.entries; n++ {
		switch _, err := f.root.Lstat(unused); {
		case isMissing(err):
			return unused, nil
		case err != nil:
			return "", fmt.Errorf("look at %s: %w", f.at(unused), cause(err))
		}
		unused = name + "-" + strconv.Itoa(n)
	}
	return "", f.refuse(name, ReasonMany)
}
