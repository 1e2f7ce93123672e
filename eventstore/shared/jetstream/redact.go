package jetstream

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Redact implements shared.Log.
func (l *Log) Redact(ctx context.Context, seqs []int64) error {
	return shared.Redact(ctx, l, seqs, l.replace)
}

// replace stores a record without payloads, then deletes what it replaces.
func (l *Log) replace(ctx context.Context, without shared.Record, changed bool) error {
	number := without.Number
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
