package openclaw

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// copied is a copy of a SQLite file, which another program may be writing.
type copied struct {
	dir string
	db  *sql.DB
}

func (c *copied) close() error {
	var err error
	if c.db != nil {
		err = c.db.Close()
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// copyTries is how often a database is copied until it has stood still meanwhile.
const copyTries = 5

// errMoved says that a database was checkpointed while it was copied.
var errMoved = errors.New("it was written to its end while it was copied")

// database opens a copy of a SQLite file of the directory, at one of its commits. Opening the file itself would write to its directory.
// A missing file, and one that cannot be copied or opened, which is reported, is nil.
func (s *Source) database(name string) *sql.DB {
	info, err := s.root.Stat(name)
	switch {
	case err != nil:
		if s.known(name) {
			s.unreadable(name, err)
		}
		return nil
	case !info.Mode().IsRegular():
		s.problem(name, ReasonInvalid, notRegular, "")
		return nil
	}
	for range copyTries {
		var db *sql.DB
		if db, err = s.copyOf(name); err == nil {
			return db
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if errors.Is(err, errMoved) {
		s.problem(name, ReasonBusy, err.Error(), "stop OpenClaw for the migration, or migrate at a quieter time")
	} else {
		s.problem(name, ReasonInvalid, "it cannot be opened as a SQLite database: "+cause(err), "if OpenClaw can open it, let it run once and stop, then migrate again")
	}
	return nil
}

// copyOf copies a database with its write-ahead log. Frames that are added to the log meanwhile do no harm: SQLite ignores an incomplete
// end. A checkpoint would, since it moves frames: it changes the database file, or the header of its log.
func (s *Source) copyOf(name string) (*sql.DB, error) {
	if info, err := s.root.Stat(name + "-journal"); err == nil && info.Size() > 0 {
		return nil, errMoved // a transaction of the older journal is under way, or was interrupted
	}
	dir, err := os.MkdirTemp(s.opts.Scratch, scratchPrefix)
	if err != nil {
		return nil, fmt.Errorf("copy a database: %w", err)
	}
	c := &copied{dir: dir}
	s.copies = append(s.copies, c)
	before, err := s.stateOf(name)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "copy.sqlite")
	if err := errors.Join(s.copyFile(name+"-wal", to+"-wal"), s.copyFile(name, to)); err != nil {
		return nil, err
	}
	if after, err := s.stateOf(name); err != nil || !after.equal(before) {
		return nil, errors.Join(errMoved, os.RemoveAll(dir))
	}
	if c.db, err = s.opts.OpenDatabase(to); err != nil {
		return nil, err
	}
	var tables int
	return c.db, c.db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

// fileState is what a checkpoint changes.
type fileState struct {
	size     int64
	changed  time.Time
	walStart []byte
}

func (f fileState) equal(other fileState) bool {
	return f.size == other.size && f.changed.Equal(other.changed) && bytes.Equal(f.walStart, other.walStart)
}

// walHeader is the size of the header of a write-ahead log, in bytes.
const walHeader = 32

func (s *Source) stateOf(name string) (f fileState, err error) {
	info, err := s.root.Stat(name)
	if err != nil {
		return f, err
	}
	f.size, f.changed = info.Size(), info.ModTime()
	wal, err := s.root.Open(name + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	defer wal.Close()
	f.walStart, err = io.ReadAll(io.LimitReader(wal, walHeader))
	return f, err
}

// copyFile copies a file; a missing one is none.
func (s *Source) copyFile(name, to string) error {
	in, err := s.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// scratchPrefix begins the names of directories with copies.
const scratchPrefix = "openclawd-migrate-"

// removeStale removes the copies that a killed run has left. The database beside them is locked for one run at a time.
func removeStale(scratch string) error {
	stale, err := filepath.Glob(filepath.Join(scratch, scratchPrefix+"*"))
	for _, dir := range stale {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
