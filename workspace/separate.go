package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Separate is an error if a protected file or directory lies in the directory, or is it, by whatever name. What an agent may change must not
// hold what the program relies on. A missing directory holds nothing.
func Separate(dir string, protected []string) error {
	here, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	for _, path := range protected {
		for _, name := range []string{path, realPath(path)} {
			if liesIn(name, here) {
				return &RefusedError{Path: dir, Reason: fmt.Sprintf("%s lies in it", path)}
			}
		}
	}
	return nil
}

// liesIn reports whether a path, or a directory above it, is the directory.
func liesIn(path string, dir os.FileInfo) bool {
	for {
		if isFile(path, dir) {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// realPath resolves the links in a path, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	return filepath.Join(realPath(above), filepath.Base(path))
}

// IsAnyOf reports whether a file is one of those at the paths, for example by a hard link.
func IsAnyOf(info os.FileInfo, paths []string) bool {
	for _, path := range paths {
		if isFile(path, info) {
			return true
		}
	}
	return false
}
