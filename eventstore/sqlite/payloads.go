package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Payloads gives access to payloads that were moved out of the log's file: their rows are blank, like those of
// redacted events.
type Payloads interface {
	// Fill restores the payload of a blank event, with its salt, and reports whether it did. A redacted event stays as
	// it is. Errors: *eventstore.ArchivedError.
	Fill(ctx context.Context, e *eventstore.Event) (bool, error)
	// Going lists the seqs of events that are being redacted: an archive may have their payloads until it is
	// rewritten, but they must not be shown any more.
	Going(ctx context.Context, log Viewer) (map[int64]bool, error)
	// Lost checks events that Fill has left blank, by seq, and returns an *eventstore.ArchivedError if the payload of
	// one of them was moved out according to the log: then it is not redacted.
	Lost(ctx context.Context, log Viewer, blank []int64) error
}

// Viewer runs reads in one read transaction.
type Viewer interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// inView is an open view. A nested one must reuse it: it could wait for a connection forever.
type inView struct{ tx *sql.Tx }

func (v inView) View(_ context.Context, read func(*sql.Tx) error) error { return read(v.tx) }

// ofLog reads the log where read models do not matter: it may run on the writer's goroutine, which writes them.
type ofLog struct{ db *DB }

func (l ofLog) View(ctx context.Context, read func(*sql.Tx) error) error {
	return l.db.ViewCommitted(ctx, read)
}

// Payloads returns those of Options; nil if there are none.
func (db *DB) Payloads() Payloads { return db.opts.Payloads }

// fillAll restores the payloads of events that were read, none of which may stay blank unless it was redacted. No rows
// may be open: it may read the log.
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

// fillShown restores payloads as far as possible. What cannot be read stays blank.
func fillShown(ctx context.Context, p Payloads, log Viewer, events []eventstore.Event) error {
	return fill(ctx, p, log, events, func(e *eventstore.Event) error {
		_, _ = p.Fill(ctx, e)
		return ctx.Err()
	})
}

// fill passes to use the blank events that may be in an archive. The list of events being redacted is read after their
// rows: otherwise a reader that has read the row earlier could still show a payload from the archive.
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

// isBody reports whether a stored event that is blank in the file may have a body. If nothing is left of its body, any
// body matches. It runs inside the write transaction, for retries of old events, and reads one frame of an archive at
// most.
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

// Archive blanks the payloads of the events first to last and appends record, in one transaction. kept exempts events
// by type and by whether they are the newest of their stream. An archive that has the payloads must be on disk. It
// returns how many payloads it has blanked. Blank events are skipped, so that it can be repeated.
func (db *DB) Archive(ctx context.Context, first, last int64, kept func(typ string, newest bool) bool, record eventstore.StreamAppend) (blanked int64, err error) {
	if db.writer != nil && db.writer.share != nil {
		return 0, errors.New("a log that is shared cannot be archived: other nodes do not have the archives")
	}
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
