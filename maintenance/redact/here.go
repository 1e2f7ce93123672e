package redact

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// carriedOut is a log.redacted that a node carries out.
type carriedOut struct {
	seq  int64
	seqs []int64 // of the events whose payloads go
}

// follows reports whether another node writes the log.
func (r *Redactor) follows() bool {
	_, writes := r.o.Log.SharedHead()
	return r.o.Log.IsShared() && !writes
}

const selectNotHere = `SELECT e.seq, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name >= ? AND s.name < ? AND e.type = ? AND e.actor <> ? AND e.seq NOT IN (SELECT seq FROM redactions_here) ORDER BY e.seq`

// notHere lists what the files of this node may still have, where nodes share the log. That the log was told of the end
// of a redaction says nothing of this node.
func (r *Redactor) notHere(ctx context.Context) (list []carriedOut, err error) {
	if !r.o.Log.IsShared() {
		return nil, nil
	}
	err = r.o.Log.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectNotHere, redactions.Streams, "redaction0", coordination.TypeLogRedacted, eventstore.ActorImport)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c carriedOut
			var data sql.RawBytes
			var said coordination.LogRedacted
			if err := rows.Scan(&c.seq, &data); err != nil {
				return err
			}
			if err := json.Unmarshal(data, &said); err != nil {
				return err
			}
			c.seqs = said.Seqs
			list = append(list, c)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read redactions: %w", err)
	}
	return list, nil
}

// doneHere records that the files of this node have lost these payloads.
func (r *Redactor) doneHere(ctx context.Context, done []carriedOut) error {
	if len(done) == 0 {
		return nil
	}
	seqs := make([]int64, len(done))
	for i := range done {
		seqs[i] = done[i].seq
	}
	return r.o.Log.CarriedOut(ctx, seqs)
}

// shared removes the payloads from the log that nodes share.
func (f *cleanup) shared(ctx context.Context, pending []redactions.Redaction) error {
	if len(pending) == 0 || !f.o.Log.IsShared() {
		return nil
	}
	f.at(stepShared, 0, 0)
	if err := f.o.Log.RedactShared(ctx, (&todo{pending: pending}).seqs()); err != nil {
		return fmt.Errorf("remove from the shared log: %w", err)
	}
	return nil
}

// lookEvery is how long the log is left alone between two looks for redactions that others have ordered.
const lookEvery = time.Second

// watch wakes Run, until ctx ends, when other nodes have ordered a redaction, and when this one becomes the writer.
func (r *Redactor) watch(ctx context.Context) {
	seen, followed := int64(0), r.follows()
	for {
		head, err := r.o.Log.Head(ctx)
		if err == nil {
			_, err = r.o.Log.Wait(ctx, head.Seq+1)
		}
		if err != nil || wait.For(ctx, lookEvery) != nil {
			return
		}
		list, err := r.notHere(ctx)
		if err != nil {
			continue // Run reads it too, and reports it
		}
		follows := r.follows()
		if n := len(list); n > 0 && list[n-1].seq > seen || follows != followed {
			r.signal()
		}
		if followed = follows; len(list) > 0 {
			seen = list[len(list)-1].seq
		}
	}
}

func (r *Redactor) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
