package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// fingerprint tells without reading them whether log files are the ones that a database has imported. It is kept in a file of its own
// beside the database; losing that only costs the time of reading the logs again, which adds nothing.
type fingerprint struct {
	Files []fileMark `json:"files"`
	// Seq and Hash name the head of the log after the import: the mark counts only for a log that holds that event.
	Seq  int64           `json:"seq"`
	Hash eventstore.Hash `json:"hash"`
}

// fileMark changes whenever a log file does.
type fileMark struct {
	Path  string `json:"path"`
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // ns since 1970
}

func fingerprintPath(db string) string { return db + ".import.json" }

// takeFingerprint looks at the files. Take it before they are read: what changes meanwhile is then read again next time.
func takeFingerprint(paths []string) (*fingerprint, error) {
	f := &fingerprint{Files: make([]fileMark, len(paths))}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("look at log: %w", err)
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("look at log: %w", err)
		}
		f.Files[i] = fileMark{Path: path, Inode: inode(info), Size: info.Size(), MTime: info.ModTime().UnixNano()}
	}
	return f, nil
}

func (f *fingerprint) bytes() (n int64) {
	for _, file := range f.Files {
		n += file.Size
	}
	return n
}

func (f *fingerprint) paths() []string {
	paths := make([]string, len(f.Files))
	for i, file := range f.Files {
		paths[i] = file.Path
	}
	return paths
}

// imported reports whether the file at path says that log has imported just these files.
func (f *fingerprint) imported(ctx context.Context, log eventstore.Reader, path string) (bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read import mark: %w", err)
	}
	var last fingerprint
	if json.Unmarshal(text, &last) != nil || !slices.Equal(last.Files, f.Files) || last.Seq == 0 {
		return false, nil
	}
	e, err := log.Event(ctx, last.Seq)
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil && e.Hash == last.Hash, err
}

// save notes that log has imported these files, in the file at path, which is replaced as a whole.
func (f *fingerprint) save(ctx context.Context, log eventstore.Reader, path string) error {
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	f.Seq, f.Hash = head.Seq, head.Hash
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
