package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// holder is the message of a held lease. The broker deletes it when its time is over.
type holder struct {
	Node  string `json:"node"`
	Token string `json:"token"`
	TTL   int64  `json:"ttlMs"`

	sequence uint64
}

func (h *holder) ttl() time.Duration { return time.Duration(h.TTL) * time.Millisecond }

// holding reads who holds the lease; the zero holder if no node does.
func (l *Log) holding(ctx context.Context) (holder, error) {
	m, err := l.leases.GetLastMsgForSubject(ctx, l.lease())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return holder{}, nil
	}
	if err != nil {
		return holder{}, err
	}
	h := holder{sequence: m.Sequence}
	return h, json.Unmarshal(m.Data, &h)
}

// hold stores that a node holds the lease, unless that has changed since it was read.
func (l *Log) hold(ctx context.Context, before uint64, h holder, ttl time.Duration) (changed bool, err error) {
	h.TTL = ttl.Milliseconds()
	text, err := json.Marshal(h)
	if err != nil {
		return false, err
	}
	_, err = l.js.Publish(ctx, l.lease(), text, jetstream.WithExpectLastSequencePerSubject(before), jetstream.WithMsgTTL(max(ttl, time.Second)))
	api := new(jetstream.APIError)
	if errors.As(err, &api) && (api.ErrorCode == wrongLastSequence || api.ErrorCode == wrongLastSequenceUnknown) {
		return true, nil
	}
	return false, err
}

// silent reports whether a lease was not renewed for its time, by the clock of this client since it saw the renewal
// first. The broker, which counts in whole seconds, deletes it up to two seconds later.
func (l *Log) silent(h *holder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewal.sequence != h.sequence {
		l.renewal = renewal{h.sequence, l.opts.Now()}
		return false
	}
	return h.TTL > 0 && l.opts.Now().Sub(l.renewal.seen) >= h.ttl()
}

// Acquire implements shared.Log. A lease that was taken too early, by a clock that runs fast, costs its holder the
// lease and nothing else: records are fenced by their epoch.
func (l *Log) Acquire(ctx context.Context, node string, ttl time.Duration) (shared.Lease, error) {
	token := rand.Text()
	for {
		h, err := l.holding(ctx)
		if err != nil {
			return shared.Lease{}, err
		}
		if h.Node != "" && h.Node != node {
			if !l.silent(&h) {
				return shared.Lease{}, &shared.HeldError{Node: h.Node}
			}
			if err := l.drop(ctx, h); err != nil {
				return shared.Lease{}, err
			}
			continue
		}
		changed, err := l.hold(ctx, h.sequence, holder{Node: node, Token: token}, ttl)
		if err != nil {
			return shared.Lease{}, err
		}
		if !changed {
			break
		}
	}
	head, err := shared.Open(ctx, l, node)
	if err != nil {
		return shared.Lease{}, err
	}
	return shared.Lease{Node: node, Epoch: head.Epoch, Head: head, Token: token}, nil
}

// Renew implements shared.Log.
func (l *Log) Renew(ctx context.Context, held shared.Lease, ttl time.Duration) error {
	h, err := l.holding(ctx)
	if err != nil {
		return err
	}
	if h.Token != held.Token {
		return &shared.HeldError{Node: h.Node}
	}
	changed, err := l.hold(ctx, h.sequence, holder{Node: held.Node, Token: held.Token}, ttl)
	if changed {
		return &shared.HeldError{}
	}
	return err
}

// Release implements shared.Log.
func (l *Log) Release(ctx context.Context, held shared.Lease) error {
	h, err := l.holding(ctx)
	if err != nil || h.Token != held.Token || h.sequence == 0 {
		return err
	}
	return l.drop(ctx, h)
}

// HandOver implements shared.Log.
func (l *Log) HandOver(ctx context.Context, held shared.Lease, to string, ttl time.Duration) error {
	h, err := l.holding(ctx)
	if err != nil || h.Token != held.Token || h.sequence == 0 {
		return err
	}
	_, err = l.hold(ctx, h.sequence, holder{Node: to, Token: rand.Text()}, ttl)
	return err
}

// Revoke implements shared.Log.
func (l *Log) Revoke(ctx context.Context, node string) error {
	h, err := l.holding(ctx)
	if err != nil || h.Node != node || h.sequence == 0 {
		return err
	}
	return l.drop(ctx, h)
}

// drop deletes the message of a held lease, unless that was renewed or deleted meanwhile.
func (l *Log) drop(ctx context.Context, h holder) error {
	err := l.leases.DeleteMsg(ctx, h.sequence)
	if err == nil {
		return nil
	}
	// The broker has one code for whatever prevents a deletion.
	if now, readErr := l.holding(ctx); readErr == nil && now.sequence != h.sequence {
		return nil
	}
	return err
}
