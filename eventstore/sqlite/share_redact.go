package sqlite

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// IsShared reports whether this log is a copy of a shared one.
func (db *DB) IsShared() bool { return db.opts.Shared != nil }

// SharedLeft says what a shared log keeps of redacted payloads for a while; ok is false without one that says so.
func (db *DB) SharedLeft() (left shared.Left, ok bool) {
	says, ok := db.opts.Shared.(shared.Leaver)
	if !ok {
		return left, false
	}
	return says.Left(), true
}

// CarriedOut records that the files of this node have lost the payloads that events order to be redacted. It is in the
// same file, so that a backup which is restored does not say so of what it still contains.
func (db *DB) CarriedOut(ctx context.Context, orders []int64) error {
	return db.Exclusive(ctx, func(tx eventstore.Tx) error {
		for _, seq := range orders {
			if _, err := tx.Exec("INSERT OR IGNORE INTO redactions_here (seq) VALUES (?)", seq); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}
