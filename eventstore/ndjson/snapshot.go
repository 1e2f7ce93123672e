package ndjson

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// errMoving says that the logs were being rotated while they were listed. A retry helps.
var errMoving = errors.New("the logs were being rotated")

// identity is what a file keeps when it is renamed; zero if the system has no such thing.
type identity struct{ device, inode uint64 }

// entry is a log file as listed.
type entry struct {
	path     string
	id       identity
	size     int64
	modified int64 // ns since 1970
}

// snapshot is the logs of a directory at one moment, oldest first.
type snapshot struct {
	entries []entry
	live    *os.File // of the last entry if that is the live log; otherwise nil
	first   []byte   // its beginning, at most markBytes
	odd     []string // names of logs that are not regular files: they are not read
}

// takeSnapshot opens the live log between two equal listings. Therefore whatever was rotated before it was opened is
// in the list, under its new name, and what is rotated later can still be read through the open file. A copy made
// before a truncation is in the list too, unless the log still begins as it did here.
func takeSnapshot(stateDir string) (s snapshot, err error) {
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.entries, s.odd, err = listEntries(stateDir); err != nil {
		return s, err
	}
	if n := len(s.entries); n > 0 && filepath.Base(s.entries[n-1].path) == LiveLog {
		if s.live, err = openEntry(&s.entries[n-1]); err != nil {
			return s, err
		}
		if s.first, err = readAt(s.live, 0, min(s.entries[n-1].size, markBytes)); err != nil {
			return s, err
		}
	}
	again, _, err := listEntries(stateDir)
	if err != nil {
		return s, err
	}
	if !slices.EqualFunc(s.entries, again, func(a, b entry) bool { return a.path == b.path && a.id == b.id }) {
		return s, errMoving
	}
	return s, nil
}

func (s *snapshot) close() {
	if s.live != nil {
		s.live.Close()
	}
}

func listEntries(stateDir string) (entries []entry, odd []string, err error) {
	paths, odd, err := list(stateDir)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, errMoving
		case err != nil:
			return nil, nil, fmt.Errorf("check log: %w", err)
		case !info.Mode().IsRegular():
			return nil, nil, errMoving
		}
		entries = append(entries, entry{path, identify(info), info.Size(), info.ModTime().UnixNano()})
	}
	if len(entries) > 0 {
		// A file that also has the name of an archive is being rotated: it still is the live one.
		newest := entries[len(entries)-1]
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.id != identity{} && e.id == newest.id && e.path != newest.path })
	}
	return entries, odd, nil
}

// openEntry opens the very file that was listed, or returns errMoving. Its size becomes that of the open file.
func openEntry(e *entry) (*os.File, error) {
	file, err := openLog(e.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMoving
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("check log: %w", err)
	}
	if identify(info) != e.id || !info.Mode().IsRegular() {
		file.Close()
		return nil, errMoving
	}
	e.size, e.modified = info.Size(), info.ModTime().UnixNano()
	return file, nil
}
