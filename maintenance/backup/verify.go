package backup

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Verify verifies a backup and records that in its manifest if it is writable: the file has the recorded SHA-256,
// SQLite's integrity check passes, the log is gapless and its chain unbroken, and the tables match the log. Errors:
// *MismatchError, and those of sqlite.Open and DB.Verify.
func Verify(ctx context.Context, file string, now func() time.Time, tell func(done, total int64)) (*Manifest, error) {
	noted, err := readManifest(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	found, err := verify(ctx, file, tell)
	if err != nil {
		return nil, err
	}
	found.CreatedAt = now().UTC()
	if noted != nil {
		if err := compare(file, noted, found); err != nil {
			return nil, err
		}
		found.CreatedAt, found.Version = noted.CreatedAt, noted.Version
		found.Archives = noted.Archives
	}
	found.VerifiedAt = now().UTC()
	if noted != nil {
		_ = writeManifest(file, found) // a backup on a read-only medium is as good
	}
	return found, nil
}

// LiveError says that a file is no backup: it has a WAL, so it is in use or was not closed.
type LiveError struct{ File string }

func (e *LiveError) Error() string {
	return fmt.Sprintf("%s is a database in use, not a backup", e.File)
}
func (e *LiveError) Code() string { return "live_database" }
func (e *LiveError) Hint() string {
	return "openclawd verify --db verifies it as it is, openclawd backup create --db copies it"
}

// MismatchError says that a file differs from what its manifest describes.
type MismatchError struct {
	File, Field, Noted, Found string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: its %s is %s, the manifest says %s", e.File, e.Field, e.Found, e.Noted)
}
func (e *MismatchError) Code() string { return "backup_mismatch" }
func (e *MismatchError) Hint() string {
	return "the file was changed after it was made: use another backup (openclawd backup list)"
}

func compare(file string, noted, found *Manifest) error {
	for _, c := range []struct{ field, noted, found string }{
		{"size", fmt.Sprint(noted.Bytes), fmt.Sprint(found.Bytes)},
		{"last event", fmt.Sprint(noted.Seq), fmt.Sprint(found.Seq)},
		{"head", noted.Head.String(), found.Head.String()},
		{"SHA-256", noted.SHA256, found.SHA256},
	} {
		if c.noted != c.found {
			return &MismatchError{File: file, Field: c.field, Noted: c.noted, Found: c.found}
		}
	}
	return nil
}

// verify reads a whole copy and describes it. VerifiedAt, CreatedAt and Version are left to the caller.
func verify(ctx context.Context, file string, tell func(done, total int64)) (*Manifest, error) {
	if _, err := os.Stat(file + "-wal"); err == nil {
		return nil, &LiveError{file}
	}
	m, err := verifyLog(ctx, file, tell)
	if err != nil {
		return nil, err
	}
	m.SHA256, m.Bytes, err = digest(file)
	return m, err
}

// verifyLog verifies a copy as a database. It may be of an older openclawd: its schema is migrated when it is served.
func verifyLog(ctx context.Context, file string, tell func(done, total int64)) (_ *Manifest, err error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: file, ReadOnly: true, OlderSchema: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.IntegrityCheck(ctx); err != nil {
		return nil, err
	}
	proof, err := db.Verify(ctx, false, tell)
	if err != nil {
		return nil, err
	}
	if err := checkTables(ctx, db, proof.Events); err != nil {
		return nil, err
	}
	m := &Manifest{Seq: proof.Events, Head: proof.Head}
	if m.Archives, err = readArchives(ctx, db); err != nil {
		return nil, err
	}
	m.Schema, err = db.Schema(ctx)
	return m, err
}

// checkTables checks that the live tables of a copy reflect its whole log. Read models are written after the events, so
// a copy may have them a little behind: they are brought to the end of its log when it is served.
func checkTables(ctx context.Context, db *sqlite.DB, head int64) error {
	var list []projections.Status
	err := db.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = projections.List(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.State == projections.Live && s.Seq != head && (s.Kind == projections.Decision || s.Seq > head) {
			detail := fmt.Sprintf("projection %s is live at %d, the log ends at %d", s.Name, s.Seq, head)
			return &eventstore.CorruptError{Path: db.Path(), Detail: detail, Err: errors.New(detail), HintText: "openclawd projections rebuild --all"}
		}
	}
	return nil
}

// digest hashes a copy as a file. No database connection to it is open.
func digest(file string) (sum string, bytes int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fmt.Errorf("read the copy: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if bytes, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("read the copy: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), bytes, nil
}
