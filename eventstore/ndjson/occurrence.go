package ndjson

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sort"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Domains separate the ids of events from those of rejected lines. They are part of every imported id and must never
// change.
const (
	eventDomain    = "openclawd/ndjson/event"
	rejectedDomain = "openclawd/ndjson/rejected"
)

// idChain is the sequence of ids for equal lines, from index 0, in the order of reading. A prefix of it is stored,
// with rising seqs: every import begins at 0 or continues after what was stored.
type idChain struct {
	domain string
	ts     int64 // that the line names
	digest eventstore.Hash
}

func (c idChain) id(occurrence uint32) eventstore.ID {
	b := append([]byte(c.domain), c.digest[:]...)
	return eventstore.DerivedID(c.ts, sha256.Sum256(binary.BigEndian.AppendUint32(b, occurrence)))
}

// occurrence returns how many equal lines come before this one, and counts it: those read since the base, plus those
// stored up to it.
func (im *Importer) occurrence(ctx context.Context, b *batch, c idChain) (uint32, error) {
	key := binary.BigEndian.Uint64(c.digest[:])
	before, met, err := im.seen.find(key)
	if err != nil {
		return 0, err
	}
	if !met && im.base > 0 {
		if before, err = im.storedBefore(ctx, c); err != nil {
			return 0, err
		}
	}
	b.seen = append(b.seen, key)
	im.seen.set(key, before+1)
	return before, nil
}

// storedBefore counts the ids of a chain that are stored up to the base, by exponential and then binary search.
func (im *Importer) storedBefore(ctx context.Context, c idChain) (uint32, error) {
	older := func(occurrence uint32) (bool, error) {
		e, err := im.opts.Log.EventByID(ctx, c.id(occurrence))
		if errors.Is(err, eventstore.ErrNotFound) {
			return false, nil
		}
		return err == nil && e.Seq <= im.base, err
	}
	low, bound := uint32(0), uint32(0) // all below low are older
	for {
		is, err := older(bound)
		if err != nil {
			return 0, err
		}
		if !is {
			break
		}
		low, bound = bound+1, 2*bound+1
	}
	var failed error
	n := sort.Search(int(bound-low), func(i int) bool {
		is, err := older(low + uint32(i))
		failed = errors.Join(failed, err)
		return !is
	})
	return low + uint32(n), failed
}

// forget undoes what the lines of a batch have counted: they were not stored and may come again.
func (im *Importer) forget(b *batch) error {
	for _, key := range b.seen {
		n, _, err := im.seen.find(key)
		if err != nil {
			return err
		}
		im.seen.set(key, n-1)
	}
	return nil
}
