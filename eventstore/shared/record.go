package shared

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Record is one commit: what one transaction of the writer appended and blanked. A record without both opens an epoch.
type Record struct {
	Number int64 // from 1, without gaps
	First  int64 // seq of its first event; without events, the one that comes next
	Last   int64 // seq of its last event; First-1 without events
	Before eventstore.Hash
	After  eventstore.Hash // chain hash of the event Last
	Epoch  int64
	Node   string
	Body   []byte // see Encode
}

// Following returns the record that follows a head: its place is set, its contents are those of events and blank, which
// lists the seqs of events whose payloads the commit removes.
func Following(head Head, events []eventstore.Event, blank []int64) Record {
	r := Record{Number: head.Number + 1, First: head.Seq + 1, Last: head.Seq + int64(len(events)), Before: head.Hash, After: head.Hash,
		Epoch: head.Epoch, Node: head.Node, Body: Encode(events, blank)}
	if len(events) > 0 {
		r.After = events[len(events)-1].Hash
	}
	return r
}

// Opening returns the record that opens the next epoch behind a head.
func Opening(head Head, node string) Record {
	r := Following(head, nil, nil)
	r.Epoch, r.Node = head.Epoch+1, node
	return r
}

// Head returns the end of a log whose newest record is r.
func (r *Record) Head() Head {
	return Head{Number: r.Number, Seq: r.Last, Hash: r.After, Epoch: r.Epoch, Node: r.Node}
}

// Is reports whether two records are the same commit. Payloads may have been removed from one of them.
func (r *Record) Is(other *Record) bool {
	return r.Number == other.Number && r.First == other.First && r.Last == other.Last && r.Before == other.Before && r.After == other.After &&
		r.Epoch == other.Epoch && r.Node == other.Node
}

// Check returns the first reason why r is not sound: its events must link Before to After, and their payloads must have
// their hashes.
func (r *Record) Check() error {
	events, _, err := r.Decode()
	if err != nil {
		return err
	}
	hash := r.Before
	for i := range events {
		e := &events[i]
		switch {
		case !e.Redacted() && eventstore.PayloadHash(e.Salt, e.Data, e.Original) != e.DataHash:
			return r.unsound(fmt.Sprintf("the payload of event %d differs from the one appended", e.Seq))
		case eventstore.ChainHash(hash, e) != e.Hash:
			return r.unsound(fmt.Sprintf("event %d does not link to the one before", e.Seq))
		}
		hash = e.Hash
	}
	if hash != r.After {
		return r.unsound("its events do not lead to the hash that it names")
	}
	return nil
}

// Without returns r without the payloads of the events listed, and whether it had any of them.
func (r *Record) Without(seqs []int64) (Record, bool, error) {
	events, blank, err := r.Decode()
	if err != nil {
		return Record{}, false, err
	}
	changed := false
	for _, seq := range seqs {
		if seq < r.First || seq > r.Last {
			continue
		}
		e := &events[seq-r.First]
		changed = changed || !e.Redacted()
		e.Data, e.Original, e.Salt = nil, nil, nil
	}
	other := *r
	if changed {
		other.Body = Encode(events, blank)
	}
	return other, changed, nil
}

func (r *Record) unsound(detail string) error {
	return &UnsoundError{Number: r.Number, Detail: detail}
}
