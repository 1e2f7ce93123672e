package sqlite

import "github.com/pronto-lab/openclawd/eventstore/shared"

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
