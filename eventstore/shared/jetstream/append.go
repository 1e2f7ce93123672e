package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// headerBytes is what is kept free in the largest message for its header.
const headerBytes = 2 << 10

// Append implements shared.Log.
func (l *Log) Append(ctx context.Context, r shared.Record) error {
	return shared.Deliver(ctx, transport{l}, r)
}

// transport is a log without repetition.
type transport struct{ *Log }

// Send implements shared.Transport.
func (l transport) Send(ctx context.Context, r shared.Record) error {
	ctx, cancel := l.attempt(ctx, len(r.Body)/l.largest()+1)
	defer cancel()
	tail := l.known()
	if tail.number != r.Number-1 {
		if _, err := l.Head(ctx); err != nil {
			return &shared.UnavailableError{Err: err}
		}
		tail = l.known()
	}
	if tail.number != r.Number-1 {
		return shared.ErrPlace
	}
	sequence, err := l.publish(ctx, split(&r, l.subject(), l.largest()), &tail.sequence)
	if err == nil {
		l.learn(place{r.Number, sequence})
	}
	return err
}

// attempt bounds one try, because an answer may have been lost; that of several messages takes longer.
func (l *Log) attempt(ctx context.Context, messages int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(messages)*l.opts.Attempt)
}

// Read implements shared.Transport.
func (l transport) Read(ctx context.Context, after int64, limit int) ([]shared.Record, error) {
	ctx, cancel := l.attempt(ctx, 10)
	defer cancel()
	return l.Log.Read(ctx, after, limit)
}

// Head implements shared.Transport.
func (l transport) Head(ctx context.Context) (shared.Head, error) {
	ctx, cancel := l.attempt(ctx, 1)
	defer cancel()
	return l.Log.Head(ctx)
}

func (l *Log) largest() int { return int(l.conn.MaxPayload()) - headerBytes }

// publish stores messages, all or none, behind a sequence if one is given. It returns the sequence of the last.
func (l *Log) publish(ctx context.Context, messages []*nats.Msg, behind *uint64) (uint64, error) {
	if behind != nil {
		messages[0].Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(*behind, 10))
	}
	if len(messages) > 1 {
		batch := rand.Text()
		for i, m := range messages {
			m.Header.Set("Nats-Batch-Id", batch)
			m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		}
		messages[len(messages)-1].Header.Set("Nats-Batch-Commit", "1")
	}
	for i, m := range messages {
		switch {
		case i == len(messages)-1:
			answer, err := l.conn.RequestMsgWithContext(ctx, m)
			if err != nil {
				return 0, classify(err)
			}
			return acknowledged(answer)
		case i == 0: // the answer is empty, or says why the batch cannot begin
			answer, err := l.conn.RequestMsgWithContext(ctx, m)
			if err != nil {
				return 0, notStored(err)
			}
			if len(answer.Data) > 0 {
				if _, err := acknowledged(answer); err != nil {
					return 0, err
				}
			}
		default:
			if err := l.conn.PublishMsg(m); err != nil {
				return 0, notStored(err)
			}
		}
	}
	return 0, nil // there is at least one message
}

// notStored is an error before the end of a batch was sent: without that, nothing of it is stored.
func notStored(err error) error { return &shared.UnavailableError{Err: err} }

// classify tells whether a message may have been stored although there is no answer.
func classify(err error) error {
	for _, before := range []error{nats.ErrNoResponders, nats.ErrReconnectBufExceeded, nats.ErrMaxPayload} {
		if errors.Is(err, before) {
			return notStored(err)
		}
	}
	return err
}

// Codes of the broker.
const (
	wrongLastSequence        = 10071
	wrongLastSequenceUnknown = 10164 // of a replicated stream that does not tell which is the last
	maximumMessages          = 10167
	maximumBytes             = 10047
	storageExceeded          = 10077
)

// acknowledged reads an answer.
func acknowledged(answer *nats.Msg) (uint64, error) {
	var ack struct {
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, err
	}
	if ack.Error == nil {
		return ack.Sequence, nil
	}
	switch ack.Error.ErrorCode {
	case wrongLastSequence, wrongLastSequenceUnknown:
		return 0, shared.ErrPlace
	case maximumMessages, maximumBytes, storageExceeded:
		return 0, notStored(ack.Error)
	}
	return 0, ack.Error
}
