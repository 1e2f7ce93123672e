package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pronto-lab/openclawd/eventstore"
)

// trace is a file beside a database that exists while the database is open for writing. It says up to which event the
// log is on disk, so that the next open after a crash can tell whether the WAL is still complete: without its WAL the
// file is an older, but valid log. It names the file that it is about, so it does not apply to another file put in its
// place, as from a backup.
type trace struct {
	path string
	of   string // see nameOf
	file *os.File
}

func tracePath(path string) string { return path + ".open" }

const traceForm = "%s %020d\n"

// checkLeft refuses a database that lacks events which the previous process has acknowledged. seq is the end of the
// log. The error is a *eventstore.CorruptError.
func (db *DB) checkLeft(seq int64) error {
	text, err := os.ReadFile(tracePath(db.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", tracePath(db.path), err)
	}
	info, err := os.Stat(db.path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", db.path, err)
	}
	var of string
	var stored int64
	if _, err := fmt.Sscanf(string(text), "%s %d\n", &of, &stored); err != nil || of != nameOf(info) || stored <= seq {
		return nil // it is about another file, was never finished, or nothing is missing
	}
	return &eventstore.CorruptError{Path: db.path,
		Detail: fmt.Sprintf("the log ends at event %d, but event %d was stored: the write-ahead log of the killed process is missing", seq, stored),
		HintText: fmt.Sprintf("restore %s, or the newest backup; to continue without those events, remove %s",
			filepath.Base(db.path)+"-wal", filepath.Base(tracePath(db.path)))}
}

// leaveTrace starts to record up to where the log is on disk. Nothing is recorded in modes where a power cut may lose
// acknowledged events.
func (db *DB) leaveTrace(seq int64) error {
	info, err := os.Stat(db.path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", db.path, err)
	}
	t := &trace{path: tracePath(db.path), of: nameOf(info)}
	if t.of == "" || db.opts.Durability == DurabilityRelaxed {
		return nil
	}
	if t.file, err = os.OpenFile(t.path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600); err != nil {
		return fmt.Errorf("record that %s is open: %w", db.path, err)
	}
	db.trace = t
	t.stored(seq)
	return nil
}

// stored records that the log is on disk up to an event. It is not synced: it may say less than is true, never more. A
// failure to write it has no other effect.
func (t *trace) stored(seq int64) {
	if t != nil {
		_, _ = t.file.WriteAt(fmt.Appendf(nil, traceForm, t.of, seq), 0)
	}
}

// remove deletes the trace because the database is being closed: SQLite is about to move the WAL into the file.
func (t *trace) remove() error {
	if t == nil {
		return nil
	}
	err := t.file.Close()
	if gone := os.Remove(t.path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
