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

// What Write puts beside the file, under its name with these in front or behind.
const (
	nextSuffix = ".new" // what will be renamed
	noteSuffix = ".note"
	bakSuffix  = ".bak" // the version before
)

// mayRead is the mode of a file that may hold secrets.
const mayRead = 0o600

// ErrChanged means that the file is not the one that was read.
var ErrChanged = errors.New("config changed since last load")

// errLeadsNowhere means that there is no place to write to, nor one where an earlier Write could have left something.
var errLeadsNowhere = errors.New("the configuration is a link that leads nowhere; mend the link, or put a file where it leads to")

// ErrUnsettled means that a Write was cut off and nobody has asked Unsettled about it.
var ErrUnsettled = errors.New("an earlier change of the configuration is not settled yet")

// Write puts the document in the place of the file that it was made from, all of it or nothing, and keeps that one beside it as *.bak. A
// symbolic link stays, and what it leads to is replaced. Errors are ErrChanged, ErrUnsettled and those of the file system; after one,
// nothing has changed unless Unsettled says so: then the change is in place, but a power cut may undo it. Somebody who
// changes the file in the very moment between the last look at it and the rename is not noticed.
//
// note is kept beside the file from before it changes until Settle. After a crash Unsettled tells with it whether the change was made. It
// must hold no secret.
func (d *Document) Write(note []byte) error { return d.write(note, durable.SyncDir) }

// write is Write; sync brings the names in a directory to disk.
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
		err = sync(place.dir) // a note that is on the disk without the other would say that the change was made
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

// forget removes the note and what was to be renamed, in this order: a note without the other means that the change was made.
func (p *filePlace) forget() error {
	if err := discard(p.note); err != nil {
		return err
	}
	if _, err := os.Lstat(p.next); errors.Is(err, fs.ErrNotExist) {
		return nil // and a note that is back after a crash says what it said
	}
	if err := durable.SyncDir(p.dir); err != nil {
		return err
	}
	return discard(p.next)
}

func (d *Document) stillThere(file string) error {
	now := readMain(file)
	if now.err != nil {
		return fmt.Errorf("look at the configuration again: %w", now.err)
	}
	if now.found != d.base.found || now.content != d.base.content {
		return ErrChanged
	}
	return nil
}

// Unsettled tells of a Write of the file at path that nobody has settled: its note, and whether the change was made. note is nil where
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

// Settle forgets what Unsettled tells of, and removes what a Write leaves that is cut off before there is a note. No Write may be under way.
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

// filePlace is where a file lies, and what Write puts beside it.
type filePlace struct{ dir, file, next, note, bak, nextBak string }

// placeOf follows the links that lead to a file.
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

// keep puts the version before beside the file, for whoever wants it back.
func (p *filePlace) keep(content string) error {
	if err := writeNew(p.nextBak, content, mayRead); err != nil {
		return err
	}
	if err := os.Rename(p.nextBak, p.bak); err != nil {
		return errors.Join(err, discard(p.nextBak))
	}
	return nil
}

// writeNew makes a file with a content, on the disk when it returns. One of the name that a crash has left goes.
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

// discard removes a file that may not be there. Where it is not, a directory that cannot be written is no fault.
func discard(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.Remove(path)
}
