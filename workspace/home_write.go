package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Replace gives a file new content, by renaming another one over it: who reads meanwhile sees the old one or the new, and once Replace has
// returned the new one is on disk.
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

// open opens the workspace itself, and makes it where there is none.
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

// makePath is os.MkdirAll, with the names of what it makes on disk.
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

// Remove removes a file. There being none is no error.
func (h *Home) Remove(name string) error {
	err := h.at(name, func(f *folder, base string) error {
		if err := f.lookAtRegular(base); err != nil {
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

// conflictMark follows the name of a file in the name of what it was put aside as.
const conflictMark = ".conflict"

// KeepAside renames a file to <name>.conflict, or <name>.conflict-2 and so on where there is one, and gives the name
// that it has now in the same directory.
func (h *Home) KeepAside(name string) (kept string, err error) {
	err = h.at(name, func(f *folder, base string) error {
		if err := f.lookAtRegular(base); err != nil {
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

// lookAtRegular is look for regular files of any size.
func (f *folder) lookAtRegular(name string) error {
	info, err := f.look(name)
	if err == nil && !info.Mode().IsRegular() {
		return f.refuse(name, ReasonSpecial)
	}
	return err
}

// unusedName is the name, or the first of name-2, name-3 and so on that nothing has.
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
