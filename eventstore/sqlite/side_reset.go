package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Reset discards the file and creates it again with the content written by setup. Readers never see the file without
// it. Open views and updates end first. If it fails, the file stays damaged until another Reset. A file that another
// program has put in its place is left alone.
func (s *Side) Reset(ctx context.Context, setup func(*sql.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readOnly {
		return errSideReadOnly
	}
	if s.closed {
		return eventstore.ErrClosed
	}
	if err := s.begin(ctx, setup); err != nil {
		return errors.Join(err, s.release())
	}
	return nil
}

func (s *Side) begin(ctx context.Context, setup func(*sql.Tx) error) error {
	if err := s.spare(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.release(), s.remove()); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.update(ctx, setup)
}

// spare returns an error if the opened file was replaced by a valid file of another program.
func (s *Side) spare(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil || os.SameFile(info, s.held) || info.Size() == 0 {
		return nil
	}
	// Immutable, so that our WAL, which may still be there, is not taken for that file's and written into it.
	db, err := sql.Open("sqlite", fileURL(s.path, url.Values{"mode": {"ro"}, "immutable": {"1"}}))
	if err != nil {
		return s.translate(err)
	}
	defer db.Close()
	var id int64
	err = s.translate(db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id))
	switch {
	case Damaged(err):
		return nil
	case err == nil && id != SideApplicationID:
		return s.foreign()
	}
	return err
}

func (s *Side) remove() error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(s.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("throw away %s: %w", s.path, err)
		}
	}
	return nil
}

// intact returns an error if the file is no longer the one that was opened. SQLite would silently continue with the
// old one.
func (s *Side) intact() error {
	atLeast := s.size.Load()
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		return s.damaged("the file was removed: "+err.Error(), err)
	case !os.SameFile(info, s.held):
		return s.damaged("the file was replaced by another one", nil)
	case info.Size() < atLeast:
		return s.damaged(fmt.Sprintf("the file was truncated to %d bytes", info.Size()), nil)
	}
	s.size.Store(info.Size())
	return nil
}
