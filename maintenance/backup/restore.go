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

// Restore copies a backup into a missing or empty directory, under the given name, and verifies it before and
// after. Existing files are never overwritten. It returns the path of the restored database.
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
	after, err := verify(ctx, target, tell)
	if err == nil {
		err = compare(target, before, after)
	}
	if err != nil {
		return "", nil, fmt.Errorf("verify the restored database: %w", errors.Join(err, os.Remove(target)))
	}
	return target, before, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &eventstore.InvalidError{Field: "to", Value: dir, HintText: "name a directory that does not exist yet"}
	case len(entries) > 0:
		return &eventstore.InvalidError{Field: "to", Value: dir, HintText: "name a new or empty directory: restore overwrites nothing"}
	}
	return nil
}

// copyFile copies a file; the copy gets its name when it is complete and synced.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return durable.Replace(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
