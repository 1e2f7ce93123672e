package sessions

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
)

const selectOfRun = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id AND m.seq > ? AND m.seq <= ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq DESC LIMIT ?`

// RunQuery selects the messages of a run in its transcript.
type RunQuery struct {
	Transcript string
	RunID      string
	After      int64 // seq of the event that queued the run
	Over       int64 // seq of the event that ended it; 0 while it is not over
	Limit      int   // number of messages
	MaxBytes   int   // of their data
}

const (
	// passedAtMost bounds the messages of others that are read among a run's own.
	passedAtMost = 1_000
	// endSpan is more than the number of events that are appended together with the end of a run, among them its last message.
	endSpan = 64
)

// OfRun returns the newest messages of a run after the one with which it began, oldest first. cut: there are more, or some there are
// redacted or archived. Runs of a session follow one another, so its messages are found backwards from its end, at a cost that does not
// depend on the transcript's length.
func OfRun(ctx context.Context, tx *sql.Tx, q RunQuery) (list []Message, cut bool, err error) {
	last := int64(math.MaxInt64)
	if q.Over > 0 {
		last = q.Over + endSpan
	}
	rows, err := tx.QueryContext(ctx, selectOfRun, q.After, last, q.Transcript, q.Limit+passedAtMost)
	if err != nil {
		return nil, false, fmt.Errorf("read messages of a run: %w", err)
	}
	defer rows.Close()
	read, bytes, blank := 0, 0, false
	for ; rows.Next(); read++ {
		var e eventstore.Event
		var id, data sql.RawBytes
		if err := rows.Scan(&e.Seq, &id, &e.TS, &e.Type, &e.Ver, &e.Actor, &data); err != nil {
			return nil, false, fmt.Errorf("read message of a run: %w", err)
		}
		if data == nil {
			blank = true
			continue
		}
		m := Message{Seq: e.Seq, At: e.TS}
		copy(m.Event[:], id)
		e.Data = json.RawMessage(data)
		_ = json.Unmarshal(projections.Current(&e).Data, &m.Data) // a member of another type stays blank
		if m.Data.RunID != q.RunID {
			continue
		}
		if m.Data.Author == authorUser { // the message with which the run began
			return reversed(list), blank, rows.Err()
		}
		if len(list) >= q.Limit || bytes+len(data) > q.MaxBytes && len(list) > 0 {
			return reversed(list), true, rows.Err()
		}
		if err := budget.Take(ctx, timesHeld*int64(len(data))); err != nil {
			return nil, false, err
		}
		bytes += len(data)
		list = append(list, m)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("read messages of a run: %w", err)
	}
	return reversed(list), blank || read >= q.Limit+passedAtMost, nil
}

// authorUser is the author of the message with which a run begins.
const authorUser = "user"

func reversed(list []Message) []Message {
	slices.Reverse(list)
	return list
}
