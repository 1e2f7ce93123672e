package jetstream

import (
	"context"
	"errors"
	"sort"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Read implements shared.Log.
func (l *Log) Read(ctx context.Context, after int64, limit int) ([]shared.Record, error) {
	sequence, err := l.sequence(ctx, func(p part) bool { return p.Number > after })
	if err != nil || sequence == 0 {
		return nil, err
	}
	a := assembly{log: l, number: after + 1}
	for len(a.records) < limit {
		p, m, err := l.next(ctx, sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err == nil {
			err = a.add(ctx, p, m.Data)
		}
		if err != nil {
			return nil, err
		}
		sequence = m.Sequence + 1
	}
	return a.records[:min(limit, len(a.records))], nil
}

// next returns the first message from a sequence on.
func (l *Log) next(ctx context.Context, sequence uint64) (part, *jetstream.RawStreamMsg, error) {
	m, err := l.records.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(l.subject()))
	if err != nil {
		return part{}, nil, err
	}
	p, err := parse(m.Header)
	return p, m, err
}

// sequence returns the sequence of the first message from which on is true; 0 if there is none.
func (l *Log) sequence(ctx context.Context, is func(part) bool) (uint64, error) {
	last, err := l.records.GetLastMsgForSubject(ctx, l.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	newest, err := parse(last.Header)
	if err != nil || !is(newest) {
		return 0, err
	}
	found := 1 + sort.Search(int(last.Sequence), func(i int) bool {
		if err != nil {
			return true
		}
		var p part
		p, _, err = l.next(ctx, uint64(i)+1)
		return err == nil && is(p)
	})
	return uint64(found), err
}

// Find implements shared.Log.
func (l *Log) Find(ctx context.Context, seq int64) (int64, error) {
	sequence, err := l.sequence(ctx, func(p part) bool { return p.Last >= seq })
	if err != nil {
		return 0, err
	}
	if sequence == 0 {
		return 0, eventstore.ErrNotFound
	}
	p, _, err := l.next(ctx, sequence)
	if err != nil {
		return 0, err
	}
	// The records before it may have been replaced, and left no message.
	number := p.Number
	for number > 1 {
		earlier, found, err := l.replaced(ctx, number-1)
		if err != nil {
			return 0, err
		}
		if !found || earlier.Last < seq {
			break
		}
		number--
	}
	return number, nil
}

// assembly makes records of messages, in order.
type assembly struct {
	log     *Log
	number  int64 // of the record that comes next
	body    []byte
	parts   int // of that record, so far
	records []shared.Record
}

// add adds a message. Records whose messages are missing are those that were replaced.
func (a *assembly) add(ctx context.Context, p part, data []byte) error {
	if p.Number < a.number {
		return nil // what is left of a record that was replaced
	}
	for a.number < p.Number {
		if err := a.replace(ctx); err != nil {
			return err
		}
	}
	if p.n != a.parts+1 {
		return a.replace(ctx)
	}
	if p.of == 1 {
		a.body = data
	} else {
		a.body = append(a.body, data...)
	}
	if a.parts++; a.parts == p.of {
		p.Body = a.body
		a.done(p.Record)
	}
	return nil
}

func (a *assembly) done(r shared.Record) {
	a.records = append(a.records, r)
	a.number, a.body, a.parts = r.Number+1, nil, 0
}

func (a *assembly) replace(ctx context.Context) error {
	r, found, err := a.log.replaced(ctx, a.number)
	if err != nil {
		return err
	}
	if !found {
		return &shared.UnsoundError{Number: a.number, Detail: "it is missing from the stream"}
	}
	a.done(r)
	return nil
}

// replaced returns a record as it is without payloads that were redacted.
func (l *Log) replaced(ctx context.Context, number int64) (r shared.Record, found bool, err error) {
	last, err := l.redacted.GetLastMsgForSubject(ctx, l.replacement(strconv.FormatInt(number, 10)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	p, err := parse(last.Header)
	if err != nil {
		return r, false, err
	}
	for i := p.of; i > 1; i-- { // a batch has no gaps
		m, err := l.redacted.GetMsg(ctx, last.Sequence-uint64(i-1))
		if err != nil {
			return r, false, err
		}
		p.Body = append(p.Body, m.Data...)
	}
	p.Body = append(p.Body, last.Data...)
	return p.Record, true, nil
}

// Bounds of what Watch passes at once.
const (
	watchRecords = 256
	watchBytes   = 4 << 20
)

// Watch implements shared.Log.
func (l *Log) Watch(ctx context.Context, after int64, handle func([]shared.Record) error) error {
	from, err := l.start(ctx, after)
	if err != nil {
		return err
	}
	consumer, err := l.records.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, InactiveThreshold: time.Minute})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	a, size := assembly{log: l, number: after + 1}, 0
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		p, err := parse(m.Headers())
		if err != nil {
			return err
		}
		if err := a.add(ctx, p, m.Data()); err != nil {
			return err
		}
		size += len(m.Data())
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if p.n == p.of {
			l.learn(place{p.Number, meta.Sequence.Stream})
		}
		if len(a.records) > 0 && (meta.NumPending == 0 || len(a.records) >= watchRecords || size >= watchBytes) {
			records := a.records
			a.records, size = nil, 0
			if err := handle(records); err != nil {
				return err
			}
		}
	}
}

// start returns the sequence from which on the records behind after are.
func (l *Log) start(ctx context.Context, after int64) (uint64, error) {
	info, err := l.records.Info(ctx) // first: what comes meanwhile is behind this end
	if err != nil {
		return 0, err
	}
	from, err := l.sequence(ctx, func(p part) bool { return p.Number > after })
	if from == 0 {
		from = info.State.LastSeq + 1
	}
	return from, err
}
