// Package durable replaces files atomically and syncs their directories, so that their names survive a power cut.
package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Unfinished is the suffix of Replace's temporary files, which only a killed process leaves behind.
const Unfinished = ".part"

// Replace gives the file at path the content that write writes. After an error, or a power cut before it returns, the
// file is the old one or the new one as a whole; once it has returned nil, it is the new one.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+Unfinished)
	if err != nil {
		return err
	}
	err = errors.Join(write(next), next.Chmod(mode))
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// ReplaceBytes is Replace with a text.
func ReplaceBytes(path string, mode fs.FileMode, text []byte) error {
	return Replace(path, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Rename renames a file that is on disk. Both names are in one directory.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// SyncDir syncs the names in a directory to disk: files that were created, renamed or removed there. Where the system or
// the file system has no such call, it does nothing.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
