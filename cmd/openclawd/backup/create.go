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
	// Backup writes a consistent copy to target, which must not exist, and brings it to disk.
	Backup(ctx context.Context, target string) error
}

// CreateOptions of Create. Log, Dir and Now are required.
type CreateOptions struct {
	Log     Source
	Dir     string // made if it is not there, for its owner only
	Now     func() time.Time
	Version string                  // of this openclawd, for the manifest
	Tell    func(done, total int64) // events that have been proved; may be nil
}

// The copy while it is not proved yet. What a killed run has left under such a name is removed by the next one.
const (
	unprovedPrefix = ".openclawd-"
	unprovedSuffix = ".unverified"
	lockName       = ".openclawd-backup.lock"
)

// Create copies a log, proves the copy, and gives it its name and its manifest. A copy that cannot be proved is removed. Errors:
// *eventstore.LockedError while another run works in the directory, and those of Verify.
func Create(ctx context.Context, opts CreateOptions) (_ *Backup, err error) {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the backups: %w", err)
	}
	unlock, err := lock(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := removeUnproved(opts.Dir); err != nil {
		return nil, err
	}
	begun := opts.Now().UTC().Truncate(time.Second)
	copied := filepath.Join(opts.Dir, unprovedPrefix+begun.Format(nameLayout)+unprovedSuffix)
	defer func() { err = errors.Join(err, removeUnproved(opts.Dir)) }()
	if err := opts.Log.Backup(ctx, copied); err != nil {
		return nil, fmt.Errorf("back up: %w", err)
	}
	m, err := prove(ctx, copied, opts.Tell)
	if err != nil {
		return nil, fmt.Errorf("the copy cannot be proved: %w", err)
	}
	m.Archives.look(opts.Log)
	m.CreatedAt, m.VerifiedAt, m.Version = begun, opts.Now().UTC(), opts.Version
	b := &Backup{File: filepath.Join(opts.Dir, nameOf(begun, m.Seq)), Time: begun, Seq: m.Seq, Bytes: m.Bytes, Manifest: m}
	if err := publish(copied, b); err != nil {
		return nil, err
	}
	return b, nil
}

// publish gives a proved copy its name. The manifest comes first: a name without one would not count.
func publish(copied string, b *Backup) error {
	if _, err := os.Lstat(b.File); err == nil {
		return fmt.Errorf("%s: %w", b.File, os.ErrExist)
	}
	if err := writeManifest(b.File, b.Manifest); err != nil {
		return err
	}
	if err := os.Rename(copied, b.File); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	return durable.SyncDir(filepath.Dir(b.File))
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
		return nil, &eventstore.LockedError{Path: dir, Owner: "it is backing up"}
	}
	return l.Close, nil
}

// removeUnproved removes what is left of copies that came to nothing.
func removeUnproved(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for unfinished backups: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, unprovedPrefix) && strings.Contains(name, unprovedSuffix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove an unfinished backup: %w", err)
			}
		}
	}
	return nil
}
