package sqlite

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Redact blanks the payload of one event permanently. Its place, hashes and type remain, and the chain still verifies.
// Nothing is recorded in the log: see RedactBy. With a shared log, its payload is removed there too.
func (db *DB) Redact(ctx context.Context, seq int64) error {
	if db.writer != nil && db.writer.share != nil {
		return db.redactInShared(ctx, seq)
	}
	return db.Exclusive(ctx, func(tx eventstore.Tx) error {
		n, err := tx.Exec(blankEvent, seq)
		if err == nil && n == 0 {
			return eventstore.ErrNotFound
		}
		return err
	}, nil)
}

// RedactBy runs decide inside the write transaction, as Decide does, appends what it returns, and blanks the payloads
// of the events that it names, all in one transaction. Events that are blank already or do not exist are not an error.
// If decide appends nothing, nothing is blanked. The old payloads stay in free space of the file, and in its WAL,
// until Compact. With a shared log, other nodes blank them too; RedactShared removes them from that.
func (db *DB) RedactBy(ctx context.Context,
	decide func(eventstore.Tx) (seqs []int64, tell []eventstore.StreamAppend, err error)) (eventstore.Result, error) {
	if db.writer == nil {
		return eventstore.Result{}, errReadOnly
	}
	a := &appendRequest{}
	a.decide = func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		a.parts, a.events = nil, nil // it may be called again
		seqs, tell, err := decide(tx)
		if a.blank = seqs; len(tell) == 0 {
			a.blank = nil
		}
		return tell, err
	}
	r := &request{append: a, events: 1}
	if err := db.writer.submit(ctx, r); err != nil {
		return eventstore.Result{}, err
	}
	return r.result, nil
}

const blankEvent = "UPDATE events SET data = NULL, original = NULL, salt = NULL WHERE seq = ?"

func blank(tx eventstore.Tx, seqs []int64) error {
	for _, seq := range seqs {
		if _, err := tx.Exec(blankEvent, seq); err != nil {
			return err
		}
	}
	return nil
}
