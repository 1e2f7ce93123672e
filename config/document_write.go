package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// Names that Write uses beside the file: prefix or suffix of its name.
const (
	nextSuffix = ".new" // to be renamed
	noteSuffix = ".note"
	bakSuffix  = ".bak" // the previous version
)

// mayRead is the mode of a file that may contain secrets.
const mayRead = 0o600

// ErrChanged means that the file has changed since it was read.
var ErrChanged = errors.New("config changed since last load")

// errLeadsNowhere means that there is no place to write to, and none where an earlier Write could have left something.
var errLeadsNowhere = errors.New("the configuration is a dangling link; fix the link, or create its target")

// ErrUnsettled means that a Write was interrupted and Unsettled has not been checked.
var ErrUnsettled = errors.New("an earlier change of the configuration is not settled yet")

// Write replaces the file by the document, atomically, and keeps the previous version beside it as *.bak. A symbolic
// link stays, and its target is replaced. Errors are ErrChanged, ErrUnsettled and those of the file system; after an
// error nothing has changed unless Unsettled says so: then the change is in place, but a power failure may undo it. A
// concurrent change between the last check and the rename is not detected.
//
// note is kept beside the file from before the change until Settle. After a crash Unsettled uses it to report whether
// the change was made. It must contain no secret.
func (d *Document) Write(note []byte) error { return d.write(note, durable.SyncDir) }

// write implements Write; sync makes a directory's entries durable.
func (d *Document) write(note []byte, sync func(dir string) error) error {
	if err := d.editable(); err != nil {
		return err
	}
	place, err := placeOf(d.path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(place.note); err == nil {
		return ErrUnsettled
	}
	mode := fs.FileMode(mayRead)
	if info, err := os.Stat(place.file); err == nil {
		mode = info.Mode().Perm()
	}
	if d.base.found {
		if err := place.keep(d.base.content); err != nil {
			return fmt.Errorf("keep the last configuration: %w", err)
		}
	}
	err = writeNew(place.next, d.file.content, mode)
	if err == nil {
		err = sync(place.dir) // a durable note without the other file would mean that the change was made
	}
	if err == nil {
		err = writeNew(place.note, string(note), mayRead)
	}
	if err == nil {
		err = sync(place.dir)
	}
	if err == nil {
		err = d.stillThere(place.file)
	}
	if err == nil {
		err = os.Rename(place.next, place.file)
	}
	if err != nil {
		return errors.Join(err, place.forget())
	}
	if err := sync(place.dir); err != nil {
		return fmt.Errorf("the change is in place, but it may not survive a power cut: %w", err)
	}
	return nil
}

// forget removes the note and the file to be renamed, in this order: a note alone means that the change was made.
func (p *filePlace) forget() error {
	if err := discard(p.note); err != nil {
		return err
	}
	if _, err := os.Lstat(p.next); errors.Is(err, fs.ErrNotExist) {
		return nil // and a note restored by a crash is still correct
	}
	if err := durable.SyncDir(p.dir); err != nil {
		return err
	}
	return discard(p.next)
}

func (d *Document) stillThere(file string) error {
	now := readMain(file)
	if now.err != nil {
		return fmt.Errorf("check the configuration again: %w", now.err)
	}
	if now.found != d.base.found || now.content != d.base.content {
		return ErrChanged
	}
	return nil
}

// Unsettled returns an interrupted Write's note for the file at path, and whether the change was made. note is nil if
// there is none.
func Unsettled(path string) (note []byte, done bool, err error) {
	place, err := placeOf(path)
	if errors.Is(err, errLeadsNowhere) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f, err := openRegular(place.note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	content, err := readAll(f)
	if err != nil {
		return nil, false, err
	}
	_, err = os.Lstat(place.next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(content), true, nil
	case err != nil:
		return nil, false, err
	}
	return []byte(content), false, nil
}

// Settle removes what Unsettled reports, and the remains of a Write interrupted before its note. No Write may be in
// progress.
func Settle(path string) error {
	place, err := placeOf(path)
	if errors.Is(err, errLeadsNowhere) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(place.forget(), discard(place.nextBak))
}

// filePlace is the path of a file and of those that Write uses beside it.
type filePlace struct{ dir, file, next, note, bak, nextBak string }

// placeOf follows links to the file.
func placeOf(path string) (filePlace, error) {
	file, err := filepath.EvalSymlinks(path)
	switch info, statErr := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist) && statErr != nil:
		file = path
	case err != nil && statErr == nil && info.Mode()&fs.ModeSymlink != 0:
		return filePlace{}, fmt.Errorf("%w: %w", errLeadsNowhere, err)
	case err != nil:
		return filePlace{}, err
	}
	dir, name := filepath.Dir(file), filepath.Base(file)
	hidden := filepath.Join(dir, "."+name)
	return filePlace{dir, file, hidden + nextSuffix, hidden + noteSuffix, file + bakSuffix, hidden + bakSuffix + nextSuffix}, nil
}

// keep saves the previous version beside the file.
func (p *filePlace) keep(content string) error {
	if err := writeNew(p.nextBak, content, mayRead); err != nil {
		return err
	}
	if err := os.Rename(p.nextBak, p.bak); err != nil {
		return errors.Join(err, discard(p.nextBak))
	}
	return nil
}

// writeNew creates a durable file, replacing remains of a crash.
func writeNew(path, content string, mode fs.FileMode) error {
	if err := discard(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mayRead)
	if err != nil {
		return err
	}
	_, err = strings.NewReader(content).WriteTo(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, discard(path))
	}
	return nil
}

// discard removes a file if it exists. A read-only directory without it is no error.
func discard(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.Remove(path)
}
