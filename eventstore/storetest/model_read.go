package storetest

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Head implements eventstore.Reader.
func (m *Model) Head(ctx context.Context) (eventstore.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return eventstore.Head{}, err
	}
	return head(m.log), nil
}

// Read implements eventstore.Reader.
func (m *Model) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	return m.collect(ctx, limit, func(e *eventstore.Event) bool { return e.Seq > after })
}

// ReadStream implements eventstore.Reader.
func (m *Model) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Event, error) {
	return m.collect(ctx, limit, func(e *eventstore.Event) bool { return e.Stream == stream && e.Version > after })
}

// Event implements eventstore.Reader.
func (m *Model) Event(ctx context.Context, seq int64) (eventstore.Event, error) {
	return m.one(ctx, func(e *eventstore.Event) bool { return e.Seq == seq })
}

// EventByID implements eventstore.Reader.
func (m *Model) EventByID(ctx context.Context, id eventstore.ID) (eventstore.Event, error) {
	return m.one(ctx, func(e *eventstore.Event) bool { return e.ID == id })
}

func (m *Model) one(ctx context.Context, match func(*eventstore.Event) bool) (eventstore.Event, error) {
	events, err := m.collect(ctx, 1, match)
	if err != nil {
		return eventstore.Event{}, err
	}
	if len(events) == 0 {
		return eventstore.Event{}, eventstore.ErrNotFound
	}
	return events[0], nil
}

func (m *Model) collect(ctx context.Context, limit int, match func(*eventstore.Event) bool) ([]eventstore.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	var found []eventstore.Event
	for i := range m.log {
		if len(found) >= limit {
			break
		}
		if match(&m.log[i]) {
			found = append(found, m.log[i])
		}
	}
	return found, nil
}

// StreamVersion implements eventstore.Reader.
func (m *Model) StreamVersion(ctx context.Context, stream string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	return streamVersion(m.log, stream), nil
}

// Wait implements eventstore.Reader.
func (m *Model) Wait(ctx context.Context, seq int64) (int64, error) {
	for {
		m.mu.Lock()
		err, at, changed := m.usable(ctx), head(m.log).Seq, m.changed
		m.mu.Unlock()
		if err != nil {
			return 0, err
		}
		if at >= seq {
			return at, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
