package workspace

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Notes are the files of fixed names that people write at the top of an agent's workspace. They never leave the
// directory and follow no links.
type Notes struct {
	home  *Home
	names []string
}

// NewNotes returns the notes of the workspace at path that may have one of these names.
func NewNotes(path string, names ...string) *Notes { return &Notes{NewHome(path), names} }

// Read returns a file of at most MaxFileBytes and its info. Errors are fs.ErrNotExist, *RefusedError or the system's.
func (n *Notes) Read(name string) (text []byte, info fs.FileInfo, err error) {
	if err := n.check(name); err != nil {
		return nil, nil, err
	}
	err = n.home.dir.in(nil, func(f *folder) error {
		if info, err = f.statFile(name); err != nil {
			return err
		}
		text, info, err = f.read(name, info)
		return err
	})
	return text, info, err
}

// pictures are the file extensions of pictures.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg"}

// Picture returns a picture by its path below the workspace. It returns the errors of Read.
func (n *Notes) Picture(name string) (data []byte, err error) {
	if !fs.ValidPath(name) || !slices.Contains(pictures, strings.ToLower(path.Ext(name))) {
		return nil, &RefusedError{Path: name, Reason: ReasonName}
	}
	parts := strings.Split(name, "/")
	below, base := parts[:len(parts)-1], parts[len(parts)-1]
	err = n.home.dir.in(below, func(f *folder) error {
		info, err := f.statFile(base)
		if err != nil {
			return err
		}
		data, _, err = f.read(base, info)
		return err
	})
	return data, err
}

// Replace writes a note like Home.Replace.
func (n *Notes) Replace(name string, content []byte) error {
	if err := n.check(name); err != nil {
		return err
	}
	if len(content) > MaxFileBytes {
		return &RefusedError{Path: name, Reason: ReasonSize}
	}
	at, err := n.home.open()
	if err != nil {
		return err
	}
	defer at.close()
	return at.replace(name, content, n.home.dir.temporaryName)
}

func (n *Notes) check(name string) error {
	if !slices.Contains(n.names, name) {
		return &RefusedError{Path: name, Reason: ReasonName}
	}
	return nil
}
