package sharedtest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Memory is a shared log in memory that is too simple to be wrong. Its leases end by its own clock.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	records []shared.Record // records[i] has Number i+1
	changed chan struct{}   // closed and replaced whenever the log grows
	holder  shared.Lease
	until   time.Time
	tokens  int
	said    map[string]saying // by node

	// Appending, if not nil, is called for each record before it is stored, and Appended after that. Their errors are
	// those of Append, as if the way there, or back, had failed. Set them before the log is used.
	Appending, Appended func(shared.Record) error
}

// saying is what a node says of itself.
type saying struct {
	text  []byte
	until time.Time
}

// NewMemory returns an empty log.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, changed: make(chan struct{}), said: map[string]saying{}}
}

var _ shared.Log = (*Memory)(nil)

// Head implements shared.Log.
func (m *Memory) Head(ctx context.Context) (shared.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head(), ctx.Err()
}

func (m *Memory) head() shared.Head {
	if len(m.records) == 0 {
		return shared.Head{}
	}
	return m.records[len(m.records)-1].Head()
}

// Append implements shared.Log.
func (m *Memory) Append(ctx context.Context, r shared.Record) error {
	if m.Appending != nil {
		if err := m.Appending(r); err != nil {
			return err
		}
	}
	if err := m.append(ctx, r); err != nil {
		return err
	}
	if m.Appended != nil {
		return m.Appended(r)
	}
	return nil
}

func (m *Memory) append(ctx context.Context, r shared.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if n := int(r.Number); n >= 1 && n <= len(m.records) && m.records[n-1].Is(&r) {
		return nil
	}
	if r.Number != int64(len(m.records))+1 {
		return &shared.ConflictError{Number: r.Number, Head: m.head()}
	}
	r.Body = slices.Clone(r.Body)
	m.records = append(m.records, r)
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

// Read implements shared.Log.
func (m *Memory) Read(ctx context.Context, after int64, limit int) ([]shared.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := m.records[min(after, int64(len(m.records))):]
	return slices.Clone(rest[:min(limit, len(rest))]), ctx.Err()
}

// Find implements shared.Log.
func (m *Memory) Find(ctx context.Context, seq int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.records {
		if m.records[i].Last >= seq {
			return m.records[i].Number, ctx.Err()
		}
	}
	return 0, eventstore.ErrNotFound
}

// Watch implements shared.Log.
func (m *Memory) Watch(ctx context.Context, after int64, handle func([]shared.Record) error) error {
	return shared.Poll(ctx, after, handle, m.Read, func(ctx context.Context, after int64) error {
		m.mu.Lock()
		there, changed := int64(len(m.records)) > after, m.changed
		m.mu.Unlock()
		if there {
			return ctx.Err()
		}
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Redact implements shared.Log.
func (m *Memory) Redact(_ context.Context, seqs []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.records {
		r, changed, err := m.records[i].Without(seqs)
		if err != nil {
			return err
		}
		if changed {
			m.records[i] = r
		}
	}
	return nil
}

// Acquire implements shared.Log.
func (m *Memory) Acquire(ctx context.Context, node string, ttl time.Duration) (shared.Lease, error) {
	if err := m.take(node, ttl); err != nil {
		return shared.Lease{}, err
	}
	head, err := shared.Open(ctx, m, node)
	if err != nil {
		return shared.Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holder.Epoch, m.holder.Head = head.Epoch, head
	return m.holder, nil
}

func (m *Memory) take(node string, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.Node != "" && m.holder.Node != node && m.now().Before(m.until) {
		return &shared.HeldError{Node: m.holder.Node}
	}
	m.tokens++
	m.holder, m.until = shared.Lease{Node: node, Token: strconv.Itoa(m.tokens)}, m.now().Add(ttl)
	return nil
}

// Renew implements shared.Log.
func (m *Memory) Renew(_ context.Context, held shared.Lease, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.Token != held.Token {
		return &shared.HeldError{Node: m.holder.Node}
	}
	m.until = m.now().Add(ttl)
	return nil
}

// Release implements shared.Log.
func (m *Memory) Release(_ context.Context, held shared.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.Token == held.Token {
		m.holder = shared.Lease{}
	}
	return nil
}

// HandOver implements shared.Log.
func (m *Memory) HandOver(_ context.Context, held shared.Lease, to string, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.Token == held.Token {
		m.tokens++
		m.holder, m.until = shared.Lease{Node: to, Token: strconv.Itoa(m.tokens)}, m.now().Add(ttl)
	}
	return nil
}

// Revoke implements shared.Log.
func (m *Memory) Revoke(_ context.Context, node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.Node == node {
		m.holder = shared.Lease{}
	}
	return nil
}

// Announce implements shared.Log.
func (m *Memory) Announce(ctx context.Context, node string, text []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said[node] = saying{slices.Clone(text), m.now().Add(ttl)}
	return ctx.Err()
}

// Announced implements shared.Log.
func (m *Memory) Announced(ctx context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string][]byte{}
	for node, s := range m.said {
		if m.now().Before(s.until) {
			all[node] = s.text
		}
	}
	return all, ctx.Err()
}

// Close implements shared.Log. The log stays: other nodes use it.
func (m *Memory) Close() error { return nil }
