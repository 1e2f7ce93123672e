package sessions

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// place is a message of a transcript.
type place struct {
	seq   int64
	blank bool // its data was redacted or archived
}

const (
	// The messages of a transcript from a seq on and before another one, without their data.
	selectPlaces = `SELECT m.seq, e.data IS NULL
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id AND m.seq >= ? AND m.seq < ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq DESC LIMIT ?`

	// placesAtOnce bounds the messages that are looked up at once.
	placesAtOnce = 1_000
	// maxKeptPlaces bounds the places of all transcripts that are kept, 16 bytes each; beyond that all are dropped.
	maxKeptPlaces = 100_000
)

// readPlaces returns the newest places of a transcript in a range of seqs, newest first.
func readPlaces(ctx context.Context, tx *sql.Tx, id string, from, before int64, limit int) ([]place, error) {
	rows, err := tx.QueryContext(ctx, selectPlaces, from, before, id, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	places := make([]place, 0, min(limit, 16))
	for rows.Next() {
		var p place
		if err := rows.Scan(&p.seq, &p.blank); err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, rows.Err()
}

// keptPlaces are the newest places of a transcript, oldest first. They are not changed.
type keptPlaces struct {
	mark   eventstore.Mark // of before they were read
	places []place
	whole  bool // the first one begins the transcript
}

// newestPlaces returns the newest places of a transcript, newest first. Those known from an earlier read are not read again: a transcript only
// grows at its end, and nothing is redacted or archived without a new mark.
func (r *transcriptRead) newestPlaces(limit int) ([]place, error) {
	kept := r.cache.placesOf(r.id, r.mark)
	if len(kept.places) == 0 {
		return r.readNewest(limit)
	}
	last := kept.places[len(kept.places)-1].seq
	added, err := readPlaces(r.ctx, r.tx, r.id, last, maxSeq, placesAtOnce)
	if err != nil {
		return nil, err
	}
	if len(added) == 0 || added[len(added)-1].seq != last {
		return r.readNewest(limit) // this snapshot is older, or does not show the transcript, or too many were added
	}
	kept.places = joined(kept.places, added[:len(added)-1])
	if len(kept.places) < limit && !kept.whole {
		older, err := readPlaces(r.ctx, r.tx, r.id, 0, kept.places[0].seq, limit-len(kept.places))
		if err != nil {
			return nil, err
		}
		kept.whole = len(older) < limit-len(kept.places)
		kept.places = slices.Concat(reversedPlaces(older), kept.places)
	}
	r.cache.keepPlaces(r.id, kept)
	return reversedPlaces(kept.places[max(0, len(kept.places)-limit):]), nil
}

func (r *transcriptRead) readNewest(limit int) ([]place, error) {
	places, err := readPlaces(r.ctx, r.tx, r.id, 0, maxSeq, limit)
	if err == nil && r.mark.Intact() {
		r.cache.keepPlaces(r.id, keptPlaces{r.mark, reversedPlaces(places), len(places) < limit})
	}
	return places, err
}

// joined returns places, oldest first, with newer ones, newest first.
func joined(places, newer []place) []place {
	if len(newer) == 0 {
		return places
	}
	return slices.Concat(places, reversedPlaces(newer))
}

func reversedPlaces(places []place) []place {
	places = slices.Clone(places)
	slices.Reverse(places)
	return places
}

// placesOf returns the kept places of a transcript for a read that began at a mark; none are not known. It is called within the
// snapshot: if the log was rewritten between the mark and it, they do not hold.
func (c *Cache) placesOf(id string, mark eventstore.Mark) keptPlaces {
	if c == nil || !mark.Intact() || c.mark().Rewrites != mark.Rewrites {
		return keptPlaces{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.places[id]; one.mark.Rewrites == mark.Rewrites {
		return one
	}
	return keptPlaces{}
}

// keepPlaces keeps the newest of some places, unless newer ones are kept.
func (c *Cache) keepPlaces(id string, one keptPlaces) {
	if c == nil || len(one.places) == 0 {
		return
	}
	if more := len(one.places) - placesAtOnce; more > placesAtOnce {
		one.places, one.whole = slices.Clone(one.places[more:]), false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.places[id]
	if before.isNewer(&one) {
		return
	}
	if c.placed += len(one.places) - len(before.places); c.placed > maxKeptPlaces {
		clear(c.places)
		c.placed = len(one.places)
	}
	c.places[id] = one
}

func (k *keptPlaces) isNewer(other *keptPlaces) bool {
	if len(k.places) == 0 || k.mark.Rewrites != other.mark.Rewrites {
		return k.mark.Rewrites > other.mark.Rewrites
	}
	return k.places[len(k.places)-1].seq > other.places[len(other.places)-1].seq
}
