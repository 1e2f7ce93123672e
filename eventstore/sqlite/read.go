package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// eventColumns is the column order that scanRow and scanEvent rely on.
const eventColumns = `e.seq, e.id, s.name, e.version, e.type, e.ver, e.agent_id, e.ts, e.recorded_at, e.correlation_id, e.causation_id,
 e.actor, e.data, e.original, e.salt, e.data_hash, e.hash`

const selectEvents = "SELECT " + eventColumns + " FROM events e JOIN streams s ON s.id = e.stream_id"

// MaxPage bounds the events that one read returns: a long-lived snapshot would pin the WAL.
const MaxPage = 10_000

func page(limit int) int { return max(0, min(limit, MaxPage)) }

// Head implements eventstore.Reader.
func (db *DB) Head(ctx context.Context) (eventstore.Head, error) {
	if db.closed.Load() {
		return eventstore.Head{}, eventstore.ErrClosed
	}
	if db.writer != nil {
		return db.writer.head.get(), nil
	}
	leave, err := db.held.enter()
	if err != nil {
		return eventstore.Head{}, err
	}
	defer leave()
	var h eventstore.Head
	var hash []byte
	err = db.read.QueryRowContext(ctx, "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").Scan(&h.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	copy(h.Hash[:], hash)
	return h, db.translate("read", err)
}

// Read implements eventstore.Reader.
func (db *DB) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	return db.events(ctx, selectEvents+" WHERE e.seq > ? ORDER BY e.seq LIMIT ?", after, page(limit))
}

// ReadWithin is Read, but stops after the event with which the total size of data exceeds most bytes: a short result
// then does not mean the end of the log.
func (db *DB) ReadWithin(ctx context.Context, after int64, limit int, most int64) ([]eventstore.Event, error) {
	events, err := db.rowsWithin(ctx, most, selectEvents+" WHERE e.seq > ? ORDER BY e.seq LIMIT ?", after, page(limit))
	if err != nil {
		return nil, err
	}
	return events, fillAll(ctx, db.opts.Payloads, ofLog{db}, events)
}

// ReadStream implements eventstore.Reader.
func (db *DB) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error) {
	return db.events(ctx, selectEvents+" WHERE s.name = ? AND e.version > ? ORDER BY e.version LIMIT ?", stream, after, page(limit))
}

// Event implements eventstore.Reader.
func (db *DB) Event(ctx context.Context, seq int64) (eventstore.Event, error) {
	return db.event(ctx, selectEvents+" WHERE e.seq = ?", seq)
}

// EventByID implements eventstore.Reader.
func (db *DB) EventByID(ctx context.Context, id eventstore.ID) (eventstore.Event, error) {
	return db.event(ctx, selectEvents+" WHERE e.id = ?", id[:])
}

// StreamVersion implements eventstore.Reader.
func (db *DB) StreamVersion(ctx context.Context, stream string) (int64, error) {
	leave, err := db.held.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	var version int64
	err = db.read.QueryRowContext(ctx,
		"SELECT coalesce(max(version), 0) FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)", stream).Scan(&version)
	return version, db.translate("read", err)
}

// newestStreams is the number of streams per query in Newest.
const newestStreams = 500

// Newest returns the newest event of each of these streams, by their names. A stream without events is left out.
func (db *DB) Newest(ctx context.Context, streams []string) (map[string]eventstore.Event, error) {
	const query = "SELECT " + eventColumns + ` FROM streams s
 JOIN events e ON e.stream_id = s.id AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
 WHERE s.name IN (SELECT value FROM json_each(?))`
	newest := make(map[string]eventstore.Event, len(streams))
	for names := range slices.Chunk(streams, newestStreams) {
		list, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		events, err := db.events(ctx, query, string(list))
		if err != nil {
			return nil, err
		}
		for i := range events {
			newest[events[i].Stream] = events[i]
		}
	}
	return newest, nil
}

// Wait implements eventstore.Reader. Without its own writer, beside a server, it polls the file.
func (db *DB) Wait(ctx context.Context, seq int64) (int64, error) {
	if db.closed.Load() {
		return 0, eventstore.ErrClosed
	}
	if db.writer != nil {
		return db.writer.head.wait(ctx, seq)
	}
	const pause = 200 * time.Millisecond
	for {
		head, err := db.Head(ctx)
		if err != nil || head.Seq >= seq {
			return head.Seq, err
		}
		if wait.For(ctx, pause) != nil {
			return 0, ctx.Err()
		}
	}
}

// View runs read in one read transaction, so that all its queries see the same state of log and projections. It must be short: the
// snapshot pins the WAL. Read models are at the head of the log that read sees, unless they could not be written.
func (db *DB) View(ctx context.Context, read func(*sql.Tx) error) error {
	return db.ViewMarked(ctx, func(tx *sql.Tx, _ eventstore.Mark) error { return read(tx) })
}

// ViewMarked is View with the mark of the state that read sees.
func (db *DB) ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error {
	giveBack, err := db.held.hold()
	if err != nil {
		return err
	}
	defer giveBack()
	conn, tx, mark, err := db.snapshot(ctx)
	if err != nil {
		return db.translate("read", err)
	}
	defer conn.Close()
	defer func() { _ = tx.Rollback() }()
	return db.translate("read", read(tx, mark))
}

// ViewCommitted is View for what reads the log and decision tables only: it waits for nothing, and read models may be
// behind.
func (db *DB) ViewCommitted(ctx context.Context, read func(*sql.Tx) error) error {
	giveBack, err := db.held.hold()
	if err != nil {
		return err
	}
	defer giveBack()
	tx, err := db.read.BeginTx(ctx, readOnly)
	if err != nil {
		return db.translate("read", err)
	}
	defer func() { _ = tx.Rollback() }()
	return db.translate("read", read(tx))
}

var readOnly = &sql.TxOptions{ReadOnly: true}

// CROSS JOIN fixes the order of the loops, and with it the order of the events: one look-up for each of the list.
const selectListed = "SELECT " + eventColumns + ` FROM json_each(?) j CROSS JOIN events e ON e.seq = j.value CROSS JOIN streams s ON s.id = e.stream_id`

// EventsIn reads events by their seqs within a view, in the order of seqs; unknown ones are left out. Payloads of an
// unreadable archive stay blank, so that queries still get an answer.
func (db *DB) EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error) {
	list, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, selectListed, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	events := make([]eventstore.Event, 0, len(seqs))
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil { // what follows may read
		return nil, err
	}
	return events, fillShown(ctx, db.opts.Payloads, inView{tx}, events)
}

func (db *DB) event(ctx context.Context, query string, arg any) (eventstore.Event, error) {
	events, err := db.events(ctx, query, arg)
	if err != nil {
		return eventstore.Event{}, err
	}
	if len(events) == 0 {
		return eventstore.Event{}, fmt.Errorf("event %v: %w", arg, eventstore.ErrNotFound)
	}
	return events[0], nil
}

// events reads events, with archived payloads.
func (db *DB) events(ctx context.Context, query string, args ...any) ([]eventstore.Event, error) {
	events, err := db.rows(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return events, fillAll(ctx, db.opts.Payloads, ofLog{db}, events)
}

// rows reads events as stored in their rows.
func (db *DB) rows(ctx context.Context, query string, args ...any) ([]eventstore.Event, error) {
	return db.rowsWithin(ctx, math.MaxInt64, query, args...)
}

// archivedBytes is the assumed size of a payload that may be in an archive: its real size is known only when it is
// read.
const archivedBytes = 1 << 20

// rowsWithin is rows, but stops after the event with which the total size of data exceeds most bytes.
func (db *DB) rowsWithin(ctx context.Context, most int64, query string, args ...any) ([]eventstore.Event, error) {
	giveBack, err := db.held.hold()
	if err != nil {
		return nil, err
	}
	defer giveBack()
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, db.translate("read", err)
	}
	defer rows.Close()
	var events []eventstore.Event
	for bytes := int64(0); bytes <= most && rows.Next(); {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, db.translate("read", err)
		}
		events = append(events, e)
		if bytes += int64(len(e.Data) + len(e.Original)); e.Redacted() && db.opts.Payloads != nil {
			bytes += archivedBytes
		}
	}
	return events, db.translate("read", rows.Err())
}

func scanEvent(row interface{ Scan(...any) error }) (eventstore.Event, error) {
	var e eventstore.Event
	var id, dataHash, hash, data, original []byte
	err := row.Scan(&e.Seq, &id, &e.Stream, &e.Version, &e.Type, &e.Ver, &e.AgentID, &e.TS, &e.RecordedAt, &e.CorrelationID,
		&e.CausationID, &e.Actor, &data, &original, &e.Salt, &dataHash, &hash)
	if err != nil {
		return e, err
	}
	e.Data, e.Original = data, original
	copy(e.ID[:], id)
	copy(e.DataHash[:], dataHash)
	copy(e.Hash[:], hash)
	return e, nil
}

func scanRow(r eventstore.Row) eventstore.Event {
	e := eventstore.Event{
		Seq: r.Int(0), Stream: r.Text(2), Version: r.Int(3), Type: r.Text(4), Ver: int(r.Int(5)), AgentID: r.Text(6), TS: r.Int(7),
		RecordedAt: r.Int(8), CorrelationID: r.Text(9), CausationID: r.Text(10), Actor: eventstore.Actor(r.Text(11)),
		Data: r.Blob(12), Original: r.Blob(13), Salt: r.Blob(14),
	}
	copy(e.ID[:], r.Blob(1))
	copy(e.DataHash[:], r.Blob(15))
	copy(e.Hash[:], r.Blob(16))
	return e
}
