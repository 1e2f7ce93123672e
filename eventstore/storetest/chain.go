package storetest

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// VerifyChain reads the whole log and returns the number of events up to which it is valid. The error is a
// *CorruptError when the log has a gap, an event does not match its hashes, or the head is not the last event.
func VerifyChain(ctx context.Context, log eventstore.Reader) (int64, error) {
	const page = 500
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	var c chain
	for {
		events, err := log.Read(ctx, c.last.Seq, page)
		if err != nil {
			return c.last.Seq, err
		}
		for i := range events {
			if err := c.next(&events[i]); err != nil {
				return c.last.Seq, err
			}
			if c.last.Seq == head.Seq && c.last.Hash != head.Hash {
				return c.last.Seq, corrupt(head.Seq, "is not the head that the log claims")
			}
		}
		if len(events) < page {
			break
		}
	}
	if c.last.Seq < head.Seq {
		return c.last.Seq, corrupt(head.Seq, "is the head, but the log ends before it")
	}
	return c.last.Seq, nil
}

// chain follows the log event by event. The zero value is positioned before the first.
type chain struct {
	last eventstore.Head
}

// next returns an error if e cannot follow the last event.
func (c *chain) next(e *eventstore.Event) error {
	switch {
	case e.Seq != c.last.Seq+1:
		return corrupt(e.Seq, "does not follow seq %d", c.last.Seq)
	case e.Redacted() && (e.Original != nil || e.Salt != nil):
		return corrupt(e.Seq, "is redacted in part")
	case !e.Redacted() && len(e.Salt) != eventstore.SaltBytes:
		return corrupt(e.Seq, "has a salt of %d bytes", len(e.Salt))
	case !e.Redacted() && e.DataHash != eventstore.PayloadHash(e.Salt, e.Data, e.Original):
		return corrupt(e.Seq, "has a payload that its data hash does not cover")
	case e.Hash != eventstore.ChainHash(c.last.Hash, e):
		return corrupt(e.Seq, "does not hash to its place in the chain")
	}
	c.last = eventstore.Head{Seq: e.Seq, Hash: e.Hash}
	return nil
}

func corrupt(seq int64, format string, args ...any) error {
	return &eventstore.CorruptError{
		Path:     "log",
		Detail:   fmt.Sprintf("seq %d %s", seq, fmt.Sprintf(format, args...)),
		HintText: "restore a backup",
	}
}
