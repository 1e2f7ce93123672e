package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Restore brings a backup into a directory that is not there or is empty, under the given name, and proves it before and after. Nothing
// is ever written over. It returns the path of the restored database.
func Restore(ctx context.Context, file, dir, name string, now func() time.Time, tell func(done, total int64)) (string, *Manifest, error) {
	if err := checkEmpty(dir); err != nil {
		return "", nil, err
	}
	before, err := Verify(ctx, file, now, tell)
	if err != nil {
		return "", nil, fmt.Errorf("restore: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("restore: %w", err)
	}
	target := filepath.Join(dir, name)
	if err := copyFile(file, target); err != nil {
		return "", nil, fmt.Errorf("restore: %w", err)
	}
	after, err := prove(ctx, target, tell)
	if err == nil {
		err = compare(target, before, after)
	}
	if err != nil {
		return "", nil, fmt.Errorf("what was restored cannot be proved: %w", errors.Join(err, os.Remove(target)))
	}
	return target, before, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &eventstore.InvalidError{Field: "to", Value: dir, Mend: "name a directory that is not there yet"}
	case len(entries) > 0:
		return &eventstore.InvalidError{Field: "to", Value: dir, Mend: "name a new or an empty directory: nothing is restored over something"}
	}
	return nil
}

// copyFile copies a file under another name, which it gets when it is whole and on disk.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	unfinished := to + ".part"
	out, err := os.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	if err := os.Rename(unfinished, to); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(to))
}
