package sqlite

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// endEvents is how many events at the end of the log CheckEnd checks.
const endEvents = 1_000

// CheckEnd checks the newest events and returns a *eventstore.ForeignError for the first that does not follow from the
// one before: another program has written or changed it.
func (db *DB) CheckEnd(ctx context.Context) error {
	var last int64 // from the bare table: an event without a stream row cannot be read otherwise
	err := db.oneInt(ctx, "SELECT coalesce(max(seq), 0) FROM events", &last)
	if err != nil {
		return err
	}
	events, err := db.rows(ctx, selectEvents+" WHERE e.seq > ? ORDER BY e.seq LIMIT ?", max(0, last-endEvents-1), endEvents+1)
	if err != nil {
		return err
	}
	var prev eventstore.Event
	for i := range events {
		e := &events[i]
		if prev.Seq > 0 || e.Seq == 1 || last <= endEvents {
			if err := checkLink(&prev, e); err != nil {
				return &eventstore.ForeignError{Path: db.path, Seq: e.Seq, Why: err.Error()}
			}
		}
		prev = *e
	}
	if prev.Seq < last {
		return &eventstore.ForeignError{Path: db.path, Seq: prev.Seq + 1, Why: fmt.Sprintf("it has no stream, or is missing before event %d", last)}
	}
	return nil
}

// afterHead returns an event after the last one that this process knows, or nil.
func (db *DB) afterHead() error {
	if db.writer == nil {
		return nil
	}
	var found int64
	head := db.writer.head.get().Seq
	if err := db.oneInt(context.Background(), "SELECT coalesce(min(seq), 0) FROM events WHERE seq > ?", &found, head); err != nil || found == 0 {
		return nil
	}
	return &eventstore.ForeignError{Path: db.path, Seq: found, Why: "another program has written it after the last event that openclawd has stored"}
}

func (db *DB) oneInt(ctx context.Context, query string, into *int64, args ...any) error {
	leave, err := db.held.enter()
	if err != nil {
		return err
	}
	defer leave()
	return db.translate("read", db.read.QueryRowContext(ctx, query, args...).Scan(into))
}
