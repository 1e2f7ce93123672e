package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// liveLog is the file that a mirror writes, in the state in which the mirror left it.
type liveLog struct {
	dir   string
	file  *os.File    // nil until it is needed
	info  fs.FileInfo // of the existing file; nil if there is none
	size  int64
	torn  []byte      // text after the last line feed
	month string      // month of its content, 2026-02; "" if it is empty
	mode  fs.FileMode // mode of the file that was found, also used for later ones; 0 if none was
}

func (l *liveLog) path() string { return filepath.Join(l.dir, LiveLog) }

// stat records the current state of the file.
func (l *liveLog) stat() error {
	l.close()
	l.info, l.size, l.torn, l.month = nil, 0, nil, ""
	f, info, err := openRegular(l.path(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	l.info, l.mode = info, info.Mode().Perm()
	if l.size = info.Size(); l.size == 0 {
		return nil
	}
	l.month = monthOf(info.ModTime().UnixMilli())
	torn, err := newBackward(f, l.size).next()
	l.torn = bytes.Clone(torn)
	return err
}

// check reports whether another process has changed the file since, and records its current state if so.
func (l *liveLog) check() (changed bool, err error) {
	info, err := os.Lstat(l.path())
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.info == nil:
		return false, nil
	case err == nil && l.info != nil && os.SameFile(info, l.info) && info.Size() == l.size:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return true, l.stat()
}

// settle returns how to write a line after a truncated one: what has to come before it, and which part of it is still
// missing. begins is false if the line completes one in this file.
func (l *liveLog) settle(line []byte) (before, rest []byte, begins bool) {
	torn := l.torn
	l.torn = nil
	switch {
	case len(torn) == 0:
		return nil, line, true
	case bytes.HasPrefix(line, torn):
		return nil, line[len(torn):], false
	}
	return []byte{'\n'}, line, true
}

// due reports whether the file must be archived before the next line, given that line's month and the bytes to be
// added.
func (l *liveLog) due(month string, added int, limit int64) bool {
	size := l.size + int64(added)
	return size >= limit || size > 0 && l.month != "" && l.month != month
}

// append writes whole lines with one call and syncs them.
func (l *liveLog) append(text []byte) error {
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(text)
	l.size += int64(n)
	if err != nil {
		return err
	}
	return l.file.Sync()
}

func (l *liveLog) open() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	f, info, err := openRegular(l.path(), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	l.file = f
	if l.info != nil {
		return nil
	}
	l.info = info
	if l.mode != 0 {
		if err := f.Chmod(l.mode); err != nil {
			return err
		}
	}
	return durable.SyncDir(l.dir)
}

// archive renames the file, before the first line of month or because of its size; next is when that line's event was
// stored, in ms since 1970.
func (l *liveLog) archive(month string, next int64) error {
	l.close()
	name, err := l.archiveName(month, next)
	if err != nil {
		return err
	}
	if err := os.Rename(l.path(), filepath.Join(l.dir, name)); err != nil {
		return fmt.Errorf("archive log: %w", err)
	}
	l.info, l.size, l.month = nil, 0, ""
	return durable.SyncDir(l.dir)
}

// archiveName is the name of the month that has ended, else of a time. It is unused, and sorts after all existing
// archives.
func (l *liveLog) archiveName(month string, next int64) (string, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return "", fmt.Errorf("list logs: %w", err)
	}
	newest, taken := int64(0), map[string]bool{}
	for _, e := range entries {
		taken[e.Name()] = true
		if cut, ok := cutTime(e.Name()); ok && e.Name() != LiveLog {
			newest = max(newest, cut)
		}
	}
	if l.month != month {
		name := logStem + "-" + l.month + logSuffix
		if cut, ok := cutTime(name); ok && cut > newest && !taken[name] {
			return name, nil
		}
	}
	for at := max(next, newest+1); ; at++ {
		stamp := strings.ReplaceAll(time.UnixMilli(at).UTC().Format(sizeStamp), ".", "-")
		if name := logStem + "-" + stamp + logSuffix; !taken[name] {
			return name, nil
		}
	}
}

func (l *liveLog) close() {
	if l.file != nil {
		_ = l.file.Close() // its content was synced
		l.file = nil
	}
}

func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(monthStamp) }
