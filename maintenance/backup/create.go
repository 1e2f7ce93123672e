package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Source is the log to copy.
type Source interface {
	// Backup writes a consistent copy to target, which must not exist, and syncs it to disk.
	Backup(ctx context.Context, target string) error
}

// CreateOptions configures Create. Log, Dir and Now are required.
type CreateOptions struct {
	Log     Source
	Dir     string // made if missing, accessible to its owner only
	Now     func() time.Time
	Version string                  // of this openclawd, for the manifest
	Tell    func(done, total int64) // receives the number of verified events; may be nil
}

// partialPrefix and partialSuffix name a copy that is not verified yet. The next run removes what a killed one left under such a name.
const (
	partialPrefix = ".openclawd-"
	partialSuffix = ".unverified"
	lockName      = ".openclawd-backup.lock"
)

// Create copies a log, verifies the copy, and gives it its name and its manifest. A copy that fails verification is removed. Errors:
// *eventstore.LockedError while another run works in the directory, and those of Verify.
func Create(ctx context.Context, opts CreateOptions) (_ *Backup, err error) {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the backup directory: %w", err)
	}
	unlock, err := lock(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := removeUnfinished(opts.Dir); err != nil {
		return nil, err
	}
	start := opts.Now().UTC().Truncate(time.Second)
	copied := filepath.Join(opts.Dir, partialPrefix+start.Format(nameLayout)+partialSuffix)
	defer func() { err = errors.Join(err, removeUnfinished(opts.Dir)) }()
	if err := opts.Log.Backup(ctx, copied); err != nil {
		return nil, fmt.Errorf("back up: %w", err)
	}
	m, err := verify(ctx, copied, opts.Tell)
	if err != nil {
		return nil, fmt.Errorf("verify the copy: %w", err)
	}
	m.Archives.locate(opts.Log)
	m.CreatedAt, m.VerifiedAt, m.Version = start, opts.Now().UTC(), opts.Version
	b := &Backup{File: filepath.Join(opts.Dir, nameOf(start, m.Seq)), Time: start, Seq: m.Seq, Bytes: m.Bytes, Manifest: m}
	if err := publish(copied, b); err != nil {
		return nil, err
	}
	return b, nil
}

// publish gives a verified copy its name. The manifest comes first: a backup without one would not count.
func publish(copied string, b *Backup) error {
	if _, err := os.Lstat(b.File); err == nil {
		return fmt.Errorf("%s: %w", b.File, os.ErrExist)
	}
	if err := writeManifest(b.File, b.Manifest); err != nil {
		return err
	}
	if err := durable.Rename(copied, b.File); err != nil {
		return fmt.Errorf("rename the backup: %w", err)
	}
	return nil
}

// lock keeps two runs out of one directory.
func lock(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, lockName)
	l := flock.New(path)
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if !ok {
		return nil, &eventstore.LockedError{Path: dir, Owner: "another backup is running"}
	}
	return l.Close, nil
}

// removeUnfinished removes the remains of failed copies.
func removeUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list unfinished backups: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, partialPrefix) && strings.Contains(name, partialSuffix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove an unfinished backup: %w", err)
			}
		}
	}
	return nil
}
