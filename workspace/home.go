package workspace

import (
	"errors"
	"path"
	"strings"
)

// Home is an agent's workspace, at any path, restricted to the task files: CURRENT_TASK.md, tasks/<id>.md and
// task-history/<month>.md. It never leaves the directory and follows no links below it. The directory need not
// exist; writes create it. Paths in errors are relative to it.
type Home struct{ dir *Dir }

// NewHome returns the workspace at path.
func NewHome(path string) *Home { return &Home{New(path, Options{})} }

// Read returns a file of at most MaxFileBytes. Errors are fs.ErrNotExist, *RefusedError or the system's.
func (h *Home) Read(name string) (text []byte, err error) {
	err = h.at(name, func(f *folder, base string) error {
		text, err = f.readRegular(base)
		return err
	})
	return text, err
}

func (f *folder) readRegular(name string) ([]byte, error) {
	info, err := f.statFile(name)
	if err != nil {
		return nil, err
	}
	text, _, err := f.read(name, info)
	return text, err
}

// ReadEach reads files as Read does, and calls visit with each in the order of names. Files of one directory that follow one another share
// the opening of it. An error of visit ends the reading and is returned.
func (h *Home) ReadEach(names []string, visit func(name string, text []byte, err error) error) error {
	for len(names) > 0 {
		n := 1
		for n < len(names) && isHomeName(names[0]) && isHomeName(names[n]) && path.Dir(names[n]) == path.Dir(names[0]) {
			n++
		}
		if err := h.readEach(names[:n], visit); err != nil {
			return err
		}
		names = names[n:]
	}
	return nil
}

// readEach is ReadEach for files of one directory, with valid names, or for one file.
func (h *Home) readEach(names []string, visit func(name string, text []byte, err error) error) error {
	var stop error
	visited := 0
	err := h.at(names[0], func(f *folder, _ string) error {
		for ; visited < len(names) && stop == nil; visited++ {
			text, err := f.readRegular(path.Base(names[visited]))
			stop = visit(names[visited], text, err)
		}
		return nil
	})
	for ; err != nil && visited < len(names) && stop == nil; visited++ {
		stop = visit(names[visited], nil, err)
	}
	return stop
}

// List returns the existing task files: those in tasks/ and task-history/, and CURRENT_TASK.md, relative to the
// directory, sorted. Entries that only have such a name are listed too; Read refuses them. With an error it returns
// the names found nevertheless.
func (h *Home) List() (names []string, err error) {
	err = h.at(currentName, func(f *folder, base string) error {
		_, err := f.root.Lstat(base)
		if err == nil {
			names = append(names, base)
		}
		return err
	})
	if isMissing(err) {
		err = nil
	}
	for _, directory := range [...]string{historyName, tasksName} {
		found, fault := h.list(directory)
		names, err = append(names, found...), errors.Join(err, fault)
	}
	return names, err
}

// Kept returns the files that KeepAside has renamed and that still exist, relative to the directory, sorted. With
// an error it returns the names found nevertheless.
func (h *Home) Kept() (names []string, err error) {
	for _, below := range [...][]string{nil, {historyName}, {tasksName}} {
		fault := h.dir.in(below, func(f *folder) error {
			found, _, err := f.names(func(name string) bool {
				of, _, aside := strings.Cut(name, conflictMark)
				return aside && isHomeName(f.at(of))
			})
			for _, name := range found {
				names = append(names, f.at(name))
			}
			return err
		})
		if !isMissing(fault) {
			err = errors.Join(err, fault)
		}
	}
	return names, err
}

// list returns the task files in one of the directories.
func (h *Home) list(directory string) (names []string, err error) {
	err = h.dir.in([]string{directory}, func(f *folder) error {
		found, more, err := f.names(func(name string) bool { return isHomeName(f.at(name)) })
		for _, name := range found {
			names = append(names, f.at(name))
		}
		if more {
			err = &RefusedError{Path: directory, Reason: ReasonMany}
		}
		return err
	})
	if isMissing(err) {
		return nil, nil
	}
	return names, err
}

// at calls use with the directory of a file and the file's name in it. If the directory is missing the error is
// fs.ErrNotExist.
func (h *Home) at(name string, use func(f *folder, base string) error) error {
	below, base, err := homeName(name)
	if err != nil {
		return err
	}
	return h.dir.in(below, func(f *folder) error { return use(f, base) })
}

// homeName splits the name of a task file into directory and name.
func homeName(name string) (below []string, base string, err error) {
	if !isHomeName(name) {
		return nil, "", &RefusedError{Path: name, Reason: ReasonName}
	}
	if directory, base, ok := strings.Cut(name, "/"); ok {
		return []string{directory}, base, nil
	}
	return nil, name, nil
}

// isHomeName reports whether a task file can have this name.
func isHomeName(name string) bool {
	if name == currentName {
		return true
	}
	directory, base, _ := strings.Cut(name, "/")
	base, ok := strings.CutSuffix(base, ".md")
	switch directory {
	case tasksName:
		return ok && IsTaskID(base)
	case historyName:
		return ok && IsMonth(base)
	}
	return false
}
