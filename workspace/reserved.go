package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reserved holds the files and directories of the server itself.
type reserved struct{ files, dirs []string }

// isOurs reports whether a name is the name of a reserved file, or of a companion whose name starts with it, such
// as WAL, locks and positions of a database. It compares names, because most companions come and go.
func (f *folder) isOurs(name string) bool {
	return slices.ContainsFunc(f.dir.reserved.files, func(path string) bool {
		return beginsLike(name, filepath.Base(path)) && f.is(filepath.Dir(path))
	})
}

// isKept reports whether nothing may be written at name: it is reserved, another name of a reserved file, or in a
// reserved directory.
func (f *folder) isKept(name string) bool {
	if f.isOurs(name) {
		return true
	}
	there, err := f.root.Lstat(name)
	if err == nil && slices.ContainsFunc(f.dir.reserved.files, func(path string) bool { return isFile(path, there) }) {
		return true
	}
	return slices.ContainsFunc(f.dir.reserved.dirs, func(path string) bool {
		return f.path != "" && f.is(path) || strings.EqualFold(name, filepath.Base(path)) && f.is(filepath.Dir(path))
	})
}

// is reports whether the folder is the directory at path.
func (f *folder) is(path string) bool {
	here, err := f.root.Stat(".")
	return err == nil && isFile(path, here)
}

func isFile(path string, info os.FileInfo) bool {
	found, err := os.Stat(path)
	return err == nil && os.SameFile(found, info)
}

// beginsLike is strings.HasPrefix, ignoring case where a file system may do so.
func beginsLike(name, beginning string) bool {
	return len(name) >= len(beginning) && strings.EqualFold(name[:len(beginning)], beginning)
}
