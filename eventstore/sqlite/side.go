package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/pronto-lab/openclawd/eventstore"
)

// SideApplicationID marks a SQLite file as a side file of ours ("ocls").
const SideApplicationID = 0x6f636c73

// Side is a SQLite file beside a log for data that can be rebuilt from the log at any time: a damaged file is
// discarded. It has one writer and many readers, and is not synced at every commit. Its methods may be called
// concurrently.
type Side struct {
	path     string
	readOnly bool

	mu          sync.RWMutex // write-locked while the file is replaced
	closed      bool
	read, write *sql.DB      // both nil once Reset has failed; write is nil if read-only
	held        os.FileInfo  // of the open file
	size        atomic.Int64 // of the file, as last seen: it never shrinks
}

// OpenSide opens or creates the side file at path. A damaged file is replaced by an empty one; a file that is not ours
// is left alone and is an error. If read-only, the file must exist and be valid; it may have a writer in another
// process. Errors: *eventstore.CorruptError, *eventstore.InvalidError, *eventstore.DiskFullError, fs.ErrNotExist.
func OpenSide(ctx context.Context, path string, readOnly bool) (*Side, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", path, err)
	}
	lockOnce.Do(func() { lockErr = useOFDLocks() })
	if lockErr != nil {
		return nil, lockErr
	}
	s := &Side{path: path, readOnly: readOnly}
	exists, err := checkFile(path)
	switch {
	case readOnly && err == nil && !exists:
		return nil, fmt.Errorf("open %s: %w", path, os.ErrNotExist)
	case err == nil:
		err = s.open(ctx)
	}
	if Damaged(err) && !readOnly {
		err = errors.Join(s.release(), s.remove())
		if err == nil {
			err = s.open(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// Damaged reports whether an error of a Side says that the file holds no valid data, so that Reset helps.
func Damaged(err error) bool {
	var corrupt *eventstore.CorruptError
	return errors.As(err, &corrupt) && !errors.Is(err, errNotOurs)
}

// errNotOurs marks a valid file of another program: it is never removed.
var errNotOurs = errors.New("made by another program")

var errSideReadOnly = errors.New("the file is open read-only")

// Path is the absolute path of the file.
func (s *Side) Path() string { return s.path }

// View runs read in one read transaction.
func (s *Side) View(ctx context.Context, read func(*sql.Tx) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(); err != nil {
		return err
	}
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.translate(err)
	}
	defer func() { _ = tx.Rollback() }()
	return s.translate(read(tx))
}

// Update runs write in one transaction, which is committed if write returns nil. Updates are serialised. A file that
// was deleted, replaced or truncated since it was opened is damaged.
func (s *Side) Update(ctx context.Context, write func(*sql.Tx) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.readOnly {
		return errSideReadOnly
	}
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.intact(); err != nil {
		return err
	}
	return s.update(ctx, write)
}

// Close closes the file. It may be called more than once.
func (s *Side) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.release()
}

// usable returns an error if there is no file to work with.
func (s *Side) usable() error {
	switch {
	case s.closed:
		return eventstore.ErrClosed
	case s.read == nil:
		return s.damaged("the file could not be recreated", nil)
	}
	return nil
}

func (s *Side) update(ctx context.Context, write func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.translate(err)
	}
	if err := write(tx); err != nil {
		_ = tx.Rollback()
		return s.translate(err)
	}
	return s.translate(tx.Commit())
}

func (s *Side) open(ctx context.Context) (err error) {
	if !s.readOnly {
		exists, err := checkFile(s.path)
		if err != nil {
			return err
		}
		if !exists {
			if err := createPrivate(s.path); err != nil {
				return err
			}
		}
		s.write, err = sql.Open("sqlite", fileURL(s.path, url.Values{
			"_txlock": {"immediate"}, "_synchronous": {"NORMAL"}, "_busy_timeout": {"5000"}, "_dqs": {"0"},
			"_pragma": {"journal_size_limit(16777216)", "temp_store(MEMORY)", "trusted_schema(0)", "cache_size(-8000)"},
		}))
		if err != nil {
			return s.translate(err)
		}
		s.write.SetMaxOpenConns(1)
		if err := s.claim(ctx); err != nil {
			return err
		}
	}
	s.read, err = sql.Open("sqlite", fileURL(s.path, url.Values{
		"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}, "_dqs": {"0"},
		"_pragma": {"temp_store(MEMORY)", "trusted_schema(0)", "cache_size(-4000)"},
	}))
	if err != nil {
		return s.translate(err)
	}
	s.read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	s.read.SetMaxIdleConns(max(4, runtime.NumCPU()))
	var id int64
	if err := s.read.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return s.translate(err)
	}
	if id != SideApplicationID {
		return s.foreign()
	}
	if s.held, err = os.Stat(s.path); err != nil {
		return fmt.Errorf("look at %s: %w", s.path, err)
	}
	s.size.Store(s.held.Size())
	return nil
}

// claim marks a fresh file and refuses one that is not ours.
func (s *Side) claim(ctx context.Context) error {
	var id, objects int64
	if err := s.write.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), application_id FROM pragma_application_id").
		Scan(&objects, &id); err != nil {
		return s.translate(err)
	}
	if id != SideApplicationID && (id != 0 || objects > 0) {
		return s.foreign()
	}
	for _, mark := range []string{fmt.Sprintf("PRAGMA application_id = %d", SideApplicationID), "PRAGMA journal_mode = WAL"} {
		if _, err := s.write.ExecContext(ctx, mark); err != nil {
			return s.translate(err)
		}
	}
	return nil
}

func (s *Side) release() (err error) {
	if s.read != nil {
		err = s.read.Close()
	}
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	s.read, s.write, s.held = nil, nil, nil
	return err
}

func (s *Side) foreign() error {
	return &eventstore.CorruptError{Path: s.path, Detail: "this SQLite database was not created by openclawd", Err: errNotOurs,
		HintText: "move it away: openclawd needs this name for its own file"}
}

func (s *Side) translate(err error) error {
	if err == nil {
		return nil
	}
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return err
	}
	switch primaryCode(err) {
	case sqlite3lib.SQLITE_FULL:
		return &eventstore.DiskFullError{Path: s.path, Err: err}
	case sqlite3lib.SQLITE_CORRUPT, sqlite3lib.SQLITE_NOTADB:
		return s.damaged("the file is damaged: "+err.Error(), err)
	}
	return err
}

func (s *Side) damaged(detail string, err error) error {
	return &eventstore.CorruptError{Path: s.path, Detail: detail, Err: err,
		HintText: "nothing is lost: openclawd serve discards and rebuilds it"}
}
