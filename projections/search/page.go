package search

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Bounds of one page, which is fed in one transaction.
const (
	pageEvents = 1_000
	pageBytes  = 8 << 20

	unknownBytes = 8 << 10 // assumed payload size of events without one in the file: it may be archived
)

// page is some events with their index entries.
type page struct {
	events       []eventstore.Event
	entries      map[int64]*index.Entry
	indexVersion string
	more         bool
}

// next reads the events after the cursor that the index projection has reached.
func (f *feeder) next(ctx context.Context) (p page, err error) {
	var upTo int64
	err = f.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		var indexed int64
		if _, indexed, err = indexAt(ctx, tx); err != nil {
			return err
		}
		upTo, err = f.reach(ctx, tx, indexed)
		p.more = upTo < indexed
		return err
	})
	if err != nil {
		return p, err
	}
	if upTo > f.at.seq {
		if p.events, err = f.opts.Log.Read(ctx, f.at.seq, int(upTo-f.at.seq)); err != nil {
			return p, err
		}
	}
	// The projection may have been replaced between the two views; its entries and version are from the second one.
	err = f.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		seqs := make([]int64, len(p.events))
		for i := range p.events {
			seqs[i] = p.events[i].Seq
		}
		if p.indexVersion, _, err = indexAt(ctx, tx); err != nil {
			return err
		}
		p.entries, err = index.Entries(ctx, tx, seqs)
		return err
	})
	for i := range p.events {
		if p.entries[p.events[i].Seq] == nil {
			p.events, p.more = p.events[:i], false
			break
		}
	}
	return p, err
}

// indexAt returns the version of the index projection, and how far it has come.
func indexAt(ctx context.Context, tx *sql.Tx) (version string, seq int64, err error) {
	list, err := projections.List(ctx, tx)
	for _, p := range list {
		if p.Name == "index" {
			return p.Version, p.Seq, err
		}
	}
	return "", 0, err
}

// reach returns the last event of the next page: if events are huge, the page is short.
func (f *feeder) reach(ctx context.Context, tx *sql.Tx, indexed int64) (int64, error) {
	upTo := min(indexed, f.at.seq+pageEvents)
	if upTo <= f.at.seq {
		return f.at.seq, nil
	}
	seqs := make([]int64, 0, upTo-f.at.seq)
	for seq := f.at.seq + 1; seq <= upTo; seq++ {
		seqs = append(seqs, seq)
	}
	sizes, err := index.PayloadSizes(ctx, tx, seqs)
	if err != nil {
		return 0, err
	}
	bytes := int64(0)
	for _, seq := range seqs {
		if bytes += cmp.Or(sizes[seq], unknownBytes); bytes > pageBytes && seq > f.at.seq+1 {
			return seq - 1, nil
		}
	}
	return upTo, nil
}
