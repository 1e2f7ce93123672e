package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Redact implements shared.Log.
func (l *Log) Redact(ctx context.Context, seqs []int64) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	of := map[int64][]int64{}
	for _, seq := range seqs {
		number, err := l.Find(ctx, seq)
		if errors.Is(err, eventstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if number >= head.Number {
			return &eventstore.InvalidError{Field: "seq", Value: strconv.FormatInt(seq, 10), HintText: "append a record that names the event first"}
		}
		of[number] = append(of[number], seq)
	}
	for number, seqs := range of {
		if err := l.redact(ctx, number, seqs); err != nil {
			return fmt.Errorf("redact record %d of the shared log: %w", number, err)
		}
	}
	return nil
}

// redact replaces a record by one without payloads, then deletes what it replaced.
func (l *Log) redact(ctx context.Context, number int64, seqs []int64) error {
	found, err := l.Read(ctx, number-1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &shared.UnsoundError{Number: number, Detail: "it is missing from the stream"}
	}
	without, changed, err := found[0].Without(seqs)
	if err != nil {
		return err
	}
	subject := l.replacement(strconv.FormatInt(number, 10))
	if changed {
		if _, err := l.publish(ctx, split(&without, subject, l.largest()), nil); err != nil {
			return err
		}
	}
	last, err := l.redacted.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // it never had those payloads
	}
	if err != nil {
		return err
	}
	p, err := parse(last.Header)
	if err != nil {
		return err
	}
	if err := l.erase(ctx, l.redacted, subject, 1, last.Sequence-uint64(p.of), func(part) bool { return true }); err != nil {
		return err
	}
	first, err := l.sequence(ctx, func(p part) bool { return p.Number >= number })
	if err != nil {
		return err
	}
	return l.erase(ctx, l.records, l.subject(), first, ^uint64(0), func(p part) bool { return p.Number == number })
}

// erase deletes the messages of a subject with a sequence from first to last, for as long as is holds, and overwrites
// them.
func (l *Log) erase(ctx context.Context, in jetstream.Stream, subject string, first, last uint64, is func(part) bool) error {
	for first <= last {
		m, err := in.GetMsg(ctx, first, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		p, err := parse(m.Header)
		if err != nil || m.Sequence > last || !is(p) {
			return err
		}
		if err := in.SecureDeleteMsg(ctx, m.Sequence); err != nil {
			return err
		}
		first = m.Sequence + 1
	}
	return nil
}

// Left implements shared.Leaver.
func (l *Log) Left() shared.Left {
	return shared.Left{Place: "Raft logs of the NATS servers",
		Hint: "servers of a cluster drop it two to three minutes after the redaction; one that was away does so that long after it is back"}
}
