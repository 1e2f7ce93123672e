package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Payloads knows the payloads that were moved out of the log's file: there their rows are blank, as those of redacted events are.
type Payloads interface {
	// Fill puts the payload of an event that is blank back, with its salt, and reports whether it did. An event that was redacted stays
	// as it is. Errors: *eventstore.ArchivedError.
	Fill(ctx context.Context, e *eventstore.Event) (bool, error)
	// Going lists events that are being redacted, by seq: an archive may have what they said until it is written anew, and nobody is told it.
	Going(ctx context.Context, log Viewer) (map[int64]bool, error)
	// Lost looks at events that Fill has left blank, by seq, and returns an *eventstore.ArchivedError if the log says of one of them that
	// its payload was moved out: then it is not redacted.
	Lost(ctx context.Context, log Viewer, blank []int64) error
}

// Viewer is read in one read transaction.
type Viewer interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// inView is a view that is open: another one, within it, could wait for a connection for ever.
type inView struct{ tx *sql.Tx }

func (v inView) View(_ context.Context, read func(*sql.Tx) error) error { return read(v.tx) }

// Payloads are those of Options; nil without any.
func (db *DB) Payloads() Payloads { return db.opts.Payloads }

// fillAll puts payloads back into events that were read, none of which may stay blank unless it was redacted. No rows may be open: it may
// read the log.
func fillAll(ctx context.Context, p Payloads, log Viewer, events []eventstore.Event) error {
	var blank []int64
	err := fill(ctx, p, log, events, func(e *eventstore.Event) error {
		filled, err := p.Fill(ctx, e)
		if err == nil && !filled {
			blank = append(blank, e.Seq)
		}
		return err
	})
	if err != nil || len(blank) == 0 {
		return err
	}
	return p.Lost(ctx, log, blank)
}

// fillShown puts payloads back as far as that can be done. What cannot be read stays blank.
func fillShown(ctx context.Context, p Payloads, log Viewer, events []eventstore.Event) error {
	return fill(ctx, p, log, events, func(e *eventstore.Event) error {
		_, _ = p.Fill(ctx, e)
		return ctx.Err()
	})
}

// fill gives use the events that are blank and may lie in an archive. What is being redacted is looked up after their rows were read: else it
// could be shown by who has read the row before the archive has forgotten it.
func fill(ctx context.Context, p Payloads, log Viewer, events []eventstore.Event, use func(*eventstore.Event) error) error {
	if p == nil || !slices.ContainsFunc(events, func(e eventstore.Event) bool { return e.Redacted() }) {
		return nil
	}
	going, err := p.Going(ctx, log)
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if !e.Redacted() || going[e.Seq] {
			continue
		}
		if err := use(e); err != nil {
			return err
		}
	}
	return nil
}

// isBody reports whether an event that is stored, and blank in the file, may have a body. Where nothing is left of the one that it had,
// every body may be it. It is asked inside the write transaction, for a retry of something old: it reads a part of an archive at most.
func (db *DB) isBody(seq int64, dataHash eventstore.Hash, data, original []byte) bool {
	if db.opts.Payloads == nil {
		return true
	}
	e := eventstore.Event{Seq: seq, DataHash: dataHash}
	if filled, err := db.opts.Payloads.Fill(context.Background(), &e); err != nil || !filled {
		return true
	}
	return eventstore.PayloadHash(e.Salt, data, original) == dataHash
}

// Archive blanks the payloads of the events first to last and appends record, in one transaction. Those stay that kept chooses by their type, and
// whether they are the newest of their stream. An archive that has the payloads has to be on disk. It returns how many it has blanked. Events that are blank already are passed over, so
// that it can be done again.
func (db *DB) Archive(ctx context.Context, first, last int64, kept func(typ string, newest bool) bool, record eventstore.StreamAppend) (blanked int64, err error) {
	_, err = db.RedactBy(ctx, func(tx eventstore.Tx) (seqs []int64, tell []eventstore.StreamAppend, err error) {
		err = tx.Query(selectFull, []any{first, last}, func(r eventstore.Row) error {
			if !kept(r.Text(1), r.Int(2) == 1) {
				seqs = append(seqs, r.Int(0))
			}
			return nil
		})
		blanked = int64(len(seqs))
		return seqs, []eventstore.StreamAppend{record}, err
	})
	if err != nil {
		return 0, fmt.Errorf("blank the payloads of events %d to %d: %w", first, last, err)
	}
	return blanked, nil
}

const selectFull = `SELECT e.seq, e.type, e.version = (SELECT max(n.version) FROM events n WHERE n.stream_id = e.stream_id)
  FROM events e WHERE e.seq BETWEEN ? AND ? AND e.data IS NOT NULL`
