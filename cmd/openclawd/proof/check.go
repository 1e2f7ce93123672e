package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Check is a check of the chain that came to an end. It lies beside the database, and speaks of a log that has its Head and of no other.
type Check struct {
	At     time.Time       `json:"at"` // its end
	TookMs int64           `json:"tookMs"`
	Seq    int64           `json:"seq"`  // up to which everything held
	Head   int64           `json:"head"` // the newest event when it began, with its hash
	Hash   eventstore.Hash `json:"hash"`
	Error  string          `json:"error,omitempty"` // what does not hold
	Code   string          `json:"code,omitempty"`
}

// CheckChain reads the whole log, and tells how far it is after each page: then no row is open, so the caller may rest. That something does not hold is
// no error but what was found. At and TookMs are left to the caller.
func CheckChain(ctx context.Context, log *sqlite.DB, tell func(done, total int64)) (*Check, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	c := &Check{Head: head.Seq, Hash: head.Hash}
	found, err := log.Verify(ctx, true, func(done, total int64) {
		c.Seq = done
		tell(done, total)
	})
	var tampered *sqlite.TamperError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		c.Seq = found.Events
		return c, nil
	case errors.As(err, &tampered):
		c.Seq = max(tampered.Seq-1, 0)
	case errors.As(err, new(*eventstore.CorruptError)), errors.As(err, new(*eventstore.ArchivedError)):
	default:
		return nil, err
	}
	c.Error, c.Code = err.Error(), "failed"
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		c.Code = coded.Code()
	}
	return c, nil
}

// LastCheck is what was noted beside a database; nil where there is nothing, or it speaks of another log.
func LastCheck(ctx context.Context, log *sqlite.DB) (*Check, error) {
	path := database.CheckFile(log.Path())
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c Check
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	e, err := log.Event(ctx, c.Head)
	if errors.Is(err, eventstore.ErrNotFound) || err == nil && e.Hash != c.Hash {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// Note puts a check beside its database, in place of the one before. One of an empty log is not noted: nothing would tell which log it is of.
func (c *Check) Note(log *sqlite.DB) error {
	if c.Head == 0 {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	path := database.CheckFile(log.Path())
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return durable.SyncDir(filepath.Dir(path))
}
