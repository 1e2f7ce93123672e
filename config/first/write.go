package first

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Write writes a new file atomically. With force an existing one is kept beside it, and its new name returned.
func Write(path, text string, force bool) (kept string, err error) {
	refuse := func(err error) error {
		return &config.SettingError{Setting: "--state-dir", Value: filepath.Dir(path), Err: err, HintText: "choose a directory that this user may write to"}
	}
	switch _, err := os.Lstat(path); {
	case err == nil && !force:
		return "", &ExistsError{path}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", refuse(err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", refuse(err)
	}
	next, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return "", refuse(err)
	}
	defer func() {
		if gone := os.Remove(next.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, refuse(gone))
		}
	}()
	_, err = next.WriteString(text)
	if err = errors.Join(cmp.Or(err, next.Sync()), next.Close()); err != nil {
		return "", refuse(err)
	}
	if force {
		if kept, err = keepAside(path); err != nil {
			return "", refuse(err)
		}
	}
	// Unlike a rename, a link never replaces a file created meanwhile.
	switch err := os.Link(next.Name(), path); {
	case errors.Is(err, fs.ErrExist):
		return kept, &ExistsError{path}
	case err != nil:
		if err := os.Rename(next.Name(), path); err != nil { // a file system without links
			return kept, refuse(err)
		}
	}
	if err := durable.SyncDir(dir); err != nil {
		return kept, refuse(err)
	}
	return kept, nil
}

// keepAside renames the file at path to the first free name of path.bak, path.bak-2 and so on; "" if there is no file.
func keepAside(path string) (kept string, err error) {
	kept = path + ".bak"
	for n := 2; ; n++ {
		switch _, err := os.Lstat(kept); {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.Rename(path, kept); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return "", nil
				}
				return "", err
			}
			return kept, nil
		case err != nil:
			return "", err
		}
		kept = path + ".bak-" + strconv.Itoa(n)
	}
}

// ExistsError says that there is a configuration, which nothing replaces unasked.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return "a configuration exists already: " + e.Path }
func (e *ExistsError) Code() string  { return "exists" }
func (e *ExistsError) Unwrap() error { return fs.ErrExist }
func (e *ExistsError) Hint() string {
	return "openclawd serve uses it, openclawd config check checks it; init --force writes a new one and keeps this one beside it"
}
