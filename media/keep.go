package media

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/internal/durable"
)

// List returns all stored files, without their types.
func (s *Store) List() ([]Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list()
}

func (s *Store) list() (all []Info, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list stored files: %w", err)
	}
	for _, e := range entries {
		if !IsID(e.Name()) {
			continue
		}
		is, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("list stored files: %w", err)
		case is.Mode().IsRegular():
			all = append(all, Info{SHA256: e.Name(), Bytes: is.Size(), At: is.ModTime()})
		}
	}
	return all, nil
}

// Remove removes a listed file, unless it was stored again since. Its name is gone from the disk when it returns. first, which may be nil, is
// called before that, so that the file is still listed if its copies are not gone; it must not call the Store.
func (s *Store) Remove(listed Info, first func(id string) error) (removed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.path(listed.SHA256)
	is, err := os.Lstat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return false, fmt.Errorf("remove a stored file: %w", err)
	case !missing && !is.ModTime().Equal(listed.At):
		return false, nil
	}
	if first != nil {
		if err := first(listed.SHA256); err != nil {
			return false, err
		}
	}
	if missing {
		return true, nil
	}
	if err := os.Remove(path); err != nil {
		return false, fmt.Errorf("remove a stored file: %w", err)
	}
	if s.total >= 0 {
		s.total -= is.Size()
	}
	return true, durable.SyncDir(s.dir)
}

// RemoveBefore removes the files that were last stored before a time. first is that of Remove.
func (s *Store) RemoveBefore(before time.Time, first func(id string) error) error {
	all, err := s.List()
	if err != nil {
		return err
	}
	for i := range all {
		if !all[i].At.Before(before) {
			continue
		}
		if _, err := s.Remove(all[i], first); err != nil {
			return err
		}
	}
	return nil
}

// Clean removes what a killed process has not finished. It is called before the first Put.
func (s *Store) Clean() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list unfinished files: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinished) {
			if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
				return fmt.Errorf("remove an unfinished file: %w", err)
			}
		}
	}
	return nil
}
