package sqlite

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

const (
	isCopy   = "SELECT count(*) FROM shared_copy"
	markCopy = "INSERT OR IGNORE INTO shared_copy (one) VALUES (1)"
)

// checkCopy refuses to write to a copy of a shared log without that: its events would be missing from the shared log, and
// from every other node.
func (db *DB) checkCopy(ctx context.Context) error {
	if db.opts.Shared != nil || db.opts.Alone {
		return nil
	}
	var copies int64
	if err := db.write.QueryRowContext(ctx, isCopy).Scan(&copies); err != nil {
		return db.translate("read", err)
	}
	if copies > 0 {
		return &shared.CopyError{Path: db.path}
	}
	return nil
}

// becomeCopy marks the file as a copy, once it is known that the shared log has what it has.
func (db *DB) becomeCopy(ctx context.Context) error {
	copied, err := db.IsCopy(ctx)
	if err == nil && !copied {
		err = db.SetCopy(ctx, true)
	}
	return err
}

// IsCopy reports whether the file is marked as a copy of a shared log.
func (db *DB) IsCopy(ctx context.Context) (bool, error) {
	var copies int64
	err := db.oneInt(ctx, isCopy, &copies)
	return copies > 0, err
}

// SetCopy says that the file is a copy of a shared log from now on, or a log of its own.
func (db *DB) SetCopy(ctx context.Context, is bool) error {
	statement := "DELETE FROM shared_copy"
	if is {
		statement = markCopy
	}
	return db.Exclusive(ctx, func(tx eventstore.Tx) error {
		_, err := tx.Exec(statement)
		return err
	}, nil)
}
