package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Check is a completed check of the chain. It is stored beside the database, and is valid only for a log that contains
// its Head.
type Check struct {
	At     time.Time       `json:"at"` // end of the check
	TookMs int64           `json:"tookMs"`
	Seq    int64           `json:"seq"`  // last event up to which everything held
	Head   int64           `json:"head"` // newest event at the start, with its hash
	Hash   eventstore.Hash `json:"hash"`
	Error  string          `json:"error,omitempty"` // violations
	Code   string          `json:"code,omitempty"`
}

// CheckChain reads the whole log, and calls tell after each page; no rows are open then, so tell may pause. A
// violation is a finding, not an error. At and TookMs are left to the caller.
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

// LastCheck reads the check stored beside a database; nil if there is none, or it is of another log.
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

// Note stores a check beside its database, replacing the previous one. A check of an empty log is not stored: nothing
// would tie it to its log.
func (c *Check) Note(log *sqlite.DB) error {
	if c.Head == 0 {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return durable.ReplaceBytes(database.CheckFile(log.Path()), 0o600, append(text, '\n'))
}
