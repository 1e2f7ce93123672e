package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Model is an event store in memory that is too simple to be wrong: one lock, one slice, and a scan for every query.
// Other stores are compared with it.
type Model struct {
	now  func() time.Time
	ids  *eventstore.IDs
	salt io.Reader

	mu      sync.Mutex
	log     []eventstore.Event // log[i] has Seq i+1
	changed chan struct{}      // closed and replaced whenever the log grows, closed for good with the model
	closed  bool
}

var (
	_ eventstore.Store    = (*Model)(nil)
	_ eventstore.Restorer = (*Model)(nil)
)

// NewModel returns an empty store. Its three sources are injected so that tests can fix them.
func NewModel(now func() time.Time, ids *eventstore.IDs, salt io.Reader) *Model {
	return &Model{now: now, ids: ids, salt: salt, changed: make(chan struct{})}
}

// Append implements eventstore.Appender. A context that has ended stores nothing.
func (m *Model) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	for i := range appends {
		if err := appends[i].Check(); err != nil {
			return eventstore.Result{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return eventstore.Result{}, err
	}
	retry, err := m.checkIDs(appends)
	if err != nil {
		return eventstore.Result{}, err
	}

	log := m.log
	recordedAt := m.recordedAt()
	var result eventstore.Result
	for _, a := range appends {
		if actual := streamVersion(log, a.Stream); !retry && !a.Expect.Holds(actual) {
			return eventstore.Result{}, &eventstore.ConflictError{Stream: a.Stream, Expected: a.Expect, Actual: actual}
		}
		for i := range a.Events {
			if old := findID(log, a.Events[i].ID); old != nil {
				result.Events = append(result.Events, eventstore.Stored{Seq: old.Seq, Version: old.Version, ID: old.ID, Duplicate: true})
				continue
			}
			e, err := m.seal(log, a.Stream, recordedAt, &a.Events[i])
			if err != nil {
				return eventstore.Result{}, err
			}
			log = append(log, e)
			result.Events = append(result.Events, eventstore.Stored{Seq: e.Seq, Version: e.Version, ID: e.ID})
		}
	}
	m.grow(log)
	result.Seq = head(log).Seq
	return result, nil
}

// checkIDs refuses an id that is used for another body, and reports whether there are events and all of them are
// stored already.
func (m *Model) checkIDs(appends []eventstore.StreamAppend) (retry bool, err error) {
	first := map[eventstore.ID]*eventstore.NewEvent{}
	events, fresh := 0, 0
	for _, a := range appends {
		for i := range a.Events {
			e := &a.Events[i]
			events++
			if old := findID(m.log, e.ID); old != nil {
				if !isBodyOf(old, e) {
					return false, &eventstore.IDReuseError{ID: e.ID, Seq: old.Seq}
				}
				continue
			}
			fresh++
			if before, ok := first[e.ID]; ok && !sameBody(before, e) {
				return false, &eventstore.IDReuseError{ID: e.ID}
			}
			if !e.ID.IsZero() {
				first[e.ID] = e
			}
		}
	}
	return events > 0 && fresh == 0, nil
}

// isBodyOf reports whether e repeats a stored event. A redacted one matches any body.
func isBodyOf(old *eventstore.Event, e *eventstore.NewEvent) bool {
	return old.Redacted() || old.Type == e.Type && old.DataHash == eventstore.PayloadHash(old.Salt, e.Data, e.Original)
}

func sameBody(a, b *eventstore.NewEvent) bool {
	return a.Type == b.Type && bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Original, b.Original)
}

// seal creates the event that follows log.
func (m *Model) seal(log []eventstore.Event, stream string, recordedAt int64, e *eventstore.NewEvent) (eventstore.Event, error) {
	salt := make([]byte, eventstore.SaltBytes)
	if _, err := io.ReadFull(m.salt, salt); err != nil {
		return eventstore.Event{}, fmt.Errorf("draw salt: %w", err)
	}
	last := head(log)
	sealed := eventstore.Event{
		Seq:           last.Seq + 1,
		ID:            e.ID,
		Stream:        stream,
		Version:       streamVersion(log, stream) + 1,
		Type:          e.Type,
		Ver:           cmp.Or(e.Ver, 1),
		AgentID:       e.AgentID,
		TS:            recordedAt,
		RecordedAt:    recordedAt,
		CorrelationID: e.CorrelationID,
		CausationID:   e.CausationID,
		Actor:         cmp.Or(e.Actor, eventstore.ActorSystem),
		Data:          slices.Clone(e.Data),
		Original:      slices.Clone(e.Original),
		Salt:          salt,
		DataHash:      eventstore.PayloadHash(salt, e.Data, e.Original),
	}
	if e.ID.IsZero() {
		sealed.ID = m.ids.Next()
	}
	if e.HasTS() {
		sealed.TS = e.TS
	}
	sealed.Hash = eventstore.ChainHash(last.Hash, &sealed)
	return sealed, nil
}

// recordedAt returns now, unless the clock went back.
func (m *Model) recordedAt() int64 {
	now := m.now().UnixMilli()
	if n := len(m.log); n > 0 {
		now = max(now, m.log[n-1].RecordedAt)
	}
	return now
}

// grow publishes log and wakes its waiters.
func (m *Model) grow(log []eventstore.Event) {
	if len(log) == len(m.log) {
		return
	}
	m.log = log
	close(m.changed)
	m.changed = make(chan struct{})
}

// Restore implements eventstore.Restorer.
func (m *Model) Restore(ctx context.Context, events []eventstore.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	log := m.log
	for i := range events {
		e := &events[i]
		c := chain{last: head(log)}
		if err := c.next(e); err != nil {
			return err
		}
		switch {
		case e.Version != streamVersion(log, e.Stream)+1:
			return corrupt(e.Seq, "does not continue its stream")
		case e.ID.IsZero() || findID(log, e.ID) != nil:
			return corrupt(e.Seq, "has an id that is taken")
		case len(log) > 0 && e.RecordedAt < log[len(log)-1].RecordedAt:
			return corrupt(e.Seq, "was recorded before the previous event")
		}
		log = append(log, *e)
	}
	m.grow(log)
	return nil
}

// Redact blanks the payload of an event. Its place in the log and in the chain remains.
func (m *Model) Redact(ctx context.Context, seq int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if seq < 1 || seq > int64(len(m.log)) {
		return eventstore.ErrNotFound
	}
	e := &m.log[seq-1]
	e.Data, e.Original, e.Salt = nil, nil, nil
	return nil
}

// Close ends every wait; afterwards all methods return eventstore.ErrClosed. It may be called more than once.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.changed)
	}
	return nil
}

func (m *Model) usable(ctx context.Context) error {
	if m.closed {
		return eventstore.ErrClosed
	}
	return ctx.Err()
}

func head(log []eventstore.Event) eventstore.Head {
	if len(log) == 0 {
		return eventstore.Head{}
	}
	last := &log[len(log)-1]
	return eventstore.Head{Seq: last.Seq, Hash: last.Hash}
}

func streamVersion(log []eventstore.Event, stream string) int64 {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Stream == stream {
			return log[i].Version
		}
	}
	return 0
}

// findID returns nil when no event has the id.
func findID(log []eventstore.Event, id eventstore.ID) *eventstore.Event {
	for i := range log {
		if log[i].ID == id {
			return &log[i]
		}
	}
	return nil
}
