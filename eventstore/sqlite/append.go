package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Append implements eventstore.Appender.
func (db *DB) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if db.writer == nil {
		return eventstore.Result{}, errReadOnly
	}
	r := &request{append: &appendRequest{}, urgent: eventstore.IsUrgent(ctx)}
	for i := range appends {
		if err := appends[i].Check(); err != nil {
			return eventstore.Result{}, err
		}
	}
	if err := db.prepare(r.append, appends); err != nil {
		return eventstore.Result{}, err
	}
	for i := range r.append.events {
		r.events++
		r.bytes += sizeOf(&r.append.events[i].Event)
	}
	if err := db.writer.submit(ctx, r); err != nil {
		return eventstore.Result{}, err
	}
	return r.result, nil
}

// sizeOf is the size of an event for the bounds of queue, batch and read models.
func sizeOf(e *eventstore.Event) int64 { return int64(len(e.Data) + len(e.Original)) }

// Decide runs decide inside the write transaction, with every earlier event applied to the decision tables, and
// appends what it returns in the same transaction: what it read still holds when its events are stored. decide must be
// quick and do no I/O except through tx. If decide fails, nothing is stored and its error is returned unchanged.
func (db *DB) Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error) {
	if db.writer == nil {
		return eventstore.Result{}, errReadOnly
	}
	r := &request{append: &appendRequest{decide: decide}, urgent: eventstore.IsUrgent(ctx), events: 1}
	if err := db.writer.submit(ctx, r); err != nil {
		return eventstore.Result{}, err
	}
	return r.result, nil
}

// Restore implements eventstore.Restorer.
func (db *DB) Restore(ctx context.Context, events []eventstore.Event) error {
	if db.writer == nil {
		return errReadOnly
	}
	r := &request{restore: events, events: len(events)}
	for i := range events {
		r.bytes += sizeOf(&events[i])
	}
	return db.writer.submit(ctx, r)
}

// Exclusive runs job in a write transaction of its own, between two appends, and committed, which may be nil, right
// after its commit and before the next append. Maintenance uses it to write.
func (db *DB) Exclusive(ctx context.Context, job func(eventstore.Tx) error, committed func()) error {
	if db.writer == nil {
		return errReadOnly
	}
	return db.writer.submit(ctx, &request{job: job, committed: committed})
}

// Attach makes inline take part in every append from now on. It waits for the running batch; handover runs between two
// batches, so that inline can catch up to the head of the log without missing an event.
func (db *DB) Attach(ctx context.Context, inline eventstore.Inline, handover func(eventstore.Tx) error) error {
	return db.Exclusive(ctx, handover, func() { db.writer.attach(inline) })
}

var errReadOnly = errors.New("the log is open read-only")

// appendRequest is a queued append.
type appendRequest struct {
	decide func(eventstore.Tx) ([]eventstore.StreamAppend, error) // nil, or creates the events inside the transaction
	parts  []part
	events []pending
	blank  []int64 // seqs of events whose payloads are removed once these events are stored
}

// part is one StreamAppend: its events are the next n of the request.
type part struct {
	stream string
	expect eventstore.Expect
	n      int
}

// pending is an event with everything that does not depend on its place in the log.
type pending struct {
	eventstore.Event
	ownTS    bool // TS was given
	madeID   bool // the id is ours and new, so it cannot be stored already
	prepared any
}

// prepare does on the caller's goroutine what the writer need not do: ids, salts, payload hashes, classification.
func (db *DB) prepare(a *appendRequest, appends []eventstore.StreamAppend) error {
	total := 0
	for i := range appends {
		total += len(appends[i].Events)
	}
	salts := make([]byte, total*eventstore.SaltBytes)
	if _, err := io.ReadFull(db.opts.Random, salts); err != nil {
		return fmt.Errorf("make salts: %w", err)
	}
	a.parts = make([]part, 0, len(appends))
	a.events = make([]pending, 0, total)
	now := db.opts.Now().UnixMilli()
	for i := range appends {
		in := &appends[i]
		a.parts = append(a.parts, part{stream: in.Stream, expect: in.Expect, n: len(in.Events)})
		for j := range in.Events {
			e := &in.Events[j]
			salt := salts[:eventstore.SaltBytes:eventstore.SaltBytes]
			salts = salts[eventstore.SaltBytes:]
			p := pending{ownTS: e.HasTS(), madeID: e.ID.IsZero(), Event: eventstore.Event{
				ID: e.ID, Stream: in.Stream, Type: e.Type, Ver: max(e.Ver, 1), AgentID: e.AgentID, TS: e.TS, RecordedAt: now,
				CorrelationID: e.CorrelationID, CausationID: e.CausationID, Actor: e.Actor, Data: e.Data, Original: e.Original,
				Salt: salt, DataHash: eventstore.PayloadHash(salt, e.Data, e.Original),
			}}
			if p.madeID {
				p.ID = db.ids.Next()
			}
			if p.Actor == "" {
				p.Actor = eventstore.ActorSystem
			}
			if !p.ownTS {
				p.TS = now
			}
			p.prepared = db.writer.projections().Prepare(&p.Event)
			a.events = append(a.events, p)
		}
	}
	return nil
}

// append stores a request inside the running transaction. A *refusal concerns this request only, whose changes are
// undone.
func (w *writer) append(a *appendRequest) (eventstore.Result, error) {
	if a.decide != nil {
		if err := w.decide(a); err != nil {
			return eventstore.Result{}, err
		}
	}
	result := eventstore.Result{Events: make([]eventstore.Stored, len(a.events))}
	fresh, err := w.findDuplicates(a, result.Events)
	if err != nil {
		return eventstore.Result{}, err
	}
	if fresh == 0 && len(a.events) > 0 {
		result.Seq = w.log.seq
		return result, nil
	}
	if err := w.checkExpectations(a, result.Events); err != nil {
		return eventstore.Result{}, err
	}
	if err := w.accept(a, result.Events); err != nil {
		return eventstore.Result{}, err
	}
	for i := range a.events {
		if !result.Events[i].Duplicate {
			if err := w.insert(&a.events[i].Event); err != nil {
				return eventstore.Result{}, err
			}
		}
	}
	w.rewrites = w.rewrites || len(a.blank) > 0
	if err := blank(w.tx, a.blank); err != nil {
		return eventstore.Result{}, err
	}
	// A duplicate within the request refers to the first of its kind, whose place is known only now.
	for i := range result.Events {
		if first := &result.Events[i]; first.Duplicate && first.Seq < 0 {
			first.Seq, first.Version = result.Events[-first.Seq-1].Seq, result.Events[-first.Seq-1].Version
		}
	}
	w.share.collect(a, result.Events)
	result.Seq = w.log.seq
	return result, nil
}

// decide lets the request create its events from the current decision tables.
func (w *writer) decide(a *appendRequest) error {
	if err := w.projections().Settle(w.tx); err != nil {
		return err
	}
	appends, err := a.decide(deciding{w.tx, w})
	if err != nil {
		if fatal(err) {
			return err
		}
		return &refusal{err}
	}
	for i := range appends {
		if err := appends[i].Check(); err != nil {
			return &refusal{err}
		}
	}
	return w.db.prepare(a, appends)
}

// findDuplicates marks the events that are stored already and returns how many are new. A duplicate of an earlier
// event in the same request temporarily gets Seq -(index+1).
func (w *writer) findDuplicates(a *appendRequest, stored []eventstore.Stored) (fresh int, err error) {
	var seen map[eventstore.ID]int
	absent, err := w.absent(a)
	if err != nil {
		return 0, err
	}
	for i := range a.events {
		e := &a.events[i]
		stored[i].ID = e.ID
		if !e.madeID {
			if first, ok := seen[e.ID]; ok && !stored[first].Duplicate {
				f := &a.events[first]
				if f.Type != e.Type || eventstore.PayloadHash(f.Salt, e.Data, e.Original) != f.DataHash {
					return 0, &refusal{&eventstore.IDReuseError{ID: e.ID}}
				}
				stored[i] = eventstore.Stored{ID: e.ID, Duplicate: true, Seq: int64(-first - 1)}
				continue
			}
			if seen == nil && len(a.events) > 1 {
				seen = make(map[eventstore.ID]int, len(a.events))
			}
			if seen != nil {
				seen[e.ID] = i
			}
			if chunk := i / idChunk; chunk < len(absent) && absent[chunk] {
				fresh++
				continue
			}
			found, err := w.findStored(e, &stored[i])
			if err != nil {
				return 0, err
			}
			if found {
				continue
			}
		}
		fresh++
	}
	return fresh, nil
}

// idChunk is how many ids are looked up at once.
const idChunk = 32

var findIDs = "SELECT 1 FROM events WHERE id IN (?" + strings.Repeat(",?", idChunk-1) + ") LIMIT 1"

// absent tells of each whole chunk of the events whether none of it is stored. Large requests are new for the most part, and need no further
// lookup then.
func (w *writer) absent(a *appendRequest) (absent []bool, err error) {
	ids := make([]any, 0, idChunk)
	for chunk := range slices.Chunk(a.events, idChunk) {
		if len(chunk) < idChunk || chunk[0].madeID {
			break
		}
		ids = ids[:0]
		for i := range chunk {
			ids = append(ids, chunk[i].ID[:])
		}
		stored := false
		if err := w.tx.Query(findIDs, ids, func(eventstore.Row) error {
			stored = true
			return nil
		}); err != nil {
			return nil, err
		}
		absent = append(absent, !stored)
	}
	return absent, nil
}

// findStored looks e up by its id.
func (w *writer) findStored(e *pending, stored *eventstore.Stored) (found bool, err error) {
	err = w.tx.Query("SELECT seq, version, type, salt, data_hash FROM events WHERE id = ?", []any{e.ID[:]}, func(r eventstore.Row) error {
		found = true
		salt := r.Blob(3)
		gone := r.Null(3)
		if gone && !w.db.isBody(r.Int(0), eventstore.Hash(r.Blob(4)), e.Data, e.Original) ||
			!gone && (r.Text(2) != e.Type || eventstore.PayloadHash(salt, e.Data, e.Original) != eventstore.Hash(r.Blob(4))) {
			return &refusal{&eventstore.IDReuseError{ID: e.ID, Seq: r.Int(0)}}
		}
		*stored = eventstore.Stored{Seq: r.Int(0), Version: r.Int(1), ID: e.ID, Duplicate: true}
		return nil
	})
	return found, err
}

// checkExpectations compares every part with its stream, counting what earlier parts of the same request add.
func (w *writer) checkExpectations(a *appendRequest, stored []eventstore.Stored) error {
	var added map[string]int64
	next := 0
	for _, p := range a.parts {
		s, err := w.stream(p.stream)
		if err != nil {
			return err
		}
		if actual := s.version + added[p.stream]; !p.expect.Holds(actual) {
			return &refusal{&eventstore.ConflictError{Stream: p.stream, Expected: p.expect, Actual: actual}}
		}
		for range p.n {
			if !stored[next].Duplicate {
				if len(a.parts) > 1 {
					if added == nil {
						added = map[string]int64{}
					}
					added[p.stream]++
				}
			}
			next++
		}
	}
	return nil
}

// accept gives the new events their places and applies them to the decision tables. If those refuse, all changes are
// undone.
func (w *writer) accept(a *appendRequest, stored []eventstore.Stored) error {
	before := logState{seq: w.log.seq, hash: w.log.hash, recorded: w.log.recorded}
	w.projections().Begin(w.tx)
	recorded := max(w.db.opts.Now().UnixMilli(), w.log.recorded)
	for i := range a.events {
		if stored[i].Duplicate {
			continue
		}
		e := &a.events[i]
		s, err := w.stream(e.Stream)
		if err != nil {
			return err
		}
		w.log.seq++
		w.log.recorded = recorded
		if s.id == 0 {
			s.id = w.log.seq
		}
		s.version++
		w.log.streams[e.Stream] = s
		e.Seq, e.Version, e.RecordedAt = w.log.seq, s.version, recorded
		if !e.ownTS {
			e.TS = recorded
		}
		e.Hash = eventstore.ChainHash(w.log.hash, &e.Event)
		w.log.hash = e.Hash
		stored[i] = eventstore.Stored{Seq: e.Seq, Version: e.Version, ID: e.ID}
		if err := w.projections().Accept(w.tx, &e.Event, e.prepared); err != nil {
			if fatal(err) {
				return err
			}
			w.projections().Revert()
			w.log.seq, w.log.hash, w.log.recorded = before.seq, before.hash, before.recorded
			clear(w.log.streams)
			return &refusal{err}
		}
	}
	return nil
}

// insert writes the row of an accepted event, and the row of its stream if that is new.
func (w *writer) insert(e *eventstore.Event) error {
	id := w.log.streams[e.Stream].id
	if e.Version == 1 {
		if _, err := w.tx.Exec("INSERT INTO streams (id, name) VALUES (?, ?)", id, e.Stream); err != nil {
			return err
		}
	}
	_, err := w.tx.Exec(`INSERT INTO events (seq, id, stream_id, version, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id,
 actor, data, original, salt, data_hash, hash) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		e.Seq, e.ID[:], id, e.Version, e.Type, e.Ver, e.AgentID, e.TS, e.RecordedAt, e.CorrelationID, e.CausationID, string(e.Actor),
		textOrNull(e.Data), textOrNull(e.Original), e.Salt, e.DataHash[:], e.Hash[:])
	return err
}

// stream returns a stream's id and version; both are 0 if it has no event.
func (w *writer) stream(name string) (stream, error) {
	if s, ok := w.log.streams[name]; ok {
		return s, nil
	}
	var s stream
	err := w.tx.Query("SELECT s.id, (SELECT max(version) FROM events WHERE stream_id = s.id) FROM streams s WHERE s.name = ?", []any{name},
		func(r eventstore.Row) error {
			s = stream{id: r.Int(0), version: r.Int(1)}
			return nil
		})
	if err != nil {
		return stream{}, err
	}
	w.log.streams[name] = s
	return s, nil
}

// restore stores events exactly as they were exported.
func (w *writer) restore(events []eventstore.Event) error {
	prev := eventstore.Event{Seq: w.log.seq, Hash: w.log.hash, RecordedAt: w.log.recorded}
	events = slices.Clone(events) // projections hold them longer than this call
	w.projections().Begin(w.tx)
	for i := range events {
		e := &events[i]
		if err := w.checkRestored(&prev, e); err != nil {
			return err
		}
		if err := w.projections().Accept(w.tx, e, w.projections().Prepare(e)); err != nil {
			return err
		}
		if err := w.insert(e); err != nil {
			return err
		}
		prev = *e
	}
	w.log.seq, w.log.hash, w.log.recorded = prev.Seq, prev.Hash, prev.RecordedAt
	return nil
}

// checkRestored checks that e continues the log after prev, and counts it in its stream.
func (w *writer) checkRestored(prev, e *eventstore.Event) error {
	unsound := func(err error) error {
		return &eventstore.CorruptError{Path: w.db.path, Detail: fmt.Sprintf("cannot restore event %d: %v", e.Seq, err), Err: err,
			HintText: "give an unedited export that continues this log; nothing of this part was stored"}
	}
	if err := checkLink(prev, e); err != nil {
		return unsound(err)
	}
	var taken int64
	if err := w.tx.Query("SELECT seq FROM events WHERE id = ?", []any{e.ID[:]}, func(r eventstore.Row) error {
		taken = r.Int(0)
		return nil
	}); err != nil {
		return err
	}
	if taken != 0 {
		return unsound(fmt.Errorf("its id %s belongs to event %d", e.ID, taken))
	}
	s, err := w.stream(e.Stream)
	if err != nil {
		return err
	}
	if s.version++; s.version != e.Version {
		return unsound(fmt.Errorf("it is version %d of %s, but %d comes next", e.Version, e.Stream, s.version))
	}
	if s.id == 0 {
		s.id = e.Seq
	}
	w.log.streams[e.Stream] = s
	return nil
}

func textOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}
