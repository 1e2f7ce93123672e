package sessions

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/projections"
)

// Message is a message of a transcript.
type Message struct {
	Seq      int64
	Event    eventstore.ID
	At       int64 // ms since 1970, when it happened
	Redacted bool  // Data was redacted
	After    int64 // number of later messages in the transcript
	Archived bool  // it is in an archive; Data is empty here too, but was not redacted
	Data     coordination.SessionMessage
}

const (
	selectNewest = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq DESC`

	selectBefore = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id AND m.seq < ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq DESC`

	selectSaidAfter = `SELECT e.seq, e.id, e.type, e.ver, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id AND m.seq > ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq LIMIT ?`

	selectTranscripts = `SELECT t.session_id, k.name, t.opened_at, t.closed_at, t.closed, coalesce(s.messages, t.messages)
  FROM session_keys k JOIN session_transcripts t ON t.key_id = k.id AND t.id > k.hidden
  LEFT JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id
 WHERE k.name = ? ORDER BY t.id DESC`
)

// timesHeld is how often a message is in memory while it is shown: as read, as decoded, and as written.
const timesHeld = 3

// Newest returns the newest messages of a transcript, oldest first: at most limit, and at most maxBytes of data, but
// always at least one.
func Newest(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return newest(ctx, tx, limit, maxBytes, func(*Message) bool { return true }, selectNewest, id)
}

// Shown is Newest for people: without messages of exchanges between agents.
func Shown(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return newest(ctx, tx, limit, maxBytes, isShown, selectNewest, id)
}

// ShownBefore is Shown for the messages before the event of seq. Their After counts from there.
func ShownBefore(ctx context.Context, tx *sql.Tx, id string, seq int64, limit, maxBytes int) ([]Message, error) {
	return newest(ctx, tx, limit, maxBytes, isShown, selectBefore, seq, id)
}

func isShown(m *Message) bool { return !m.Data.Internal }

// maxPassed bounds the unwanted messages that are skipped.
const maxPassed = 20_000

// newest returns the newest wanted messages of a query. It reads no more of the transcript than necessary.
func newest(ctx context.Context, tx *sql.Tx, limit, maxBytes int, wanted func(*Message) bool, query string, args ...any) ([]Message, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	defer rows.Close()
	var list []Message
	for bytes, after := 0, int64(0); len(list) < limit && after < int64(limit)+maxPassed && rows.Next(); after++ {
		var e eventstore.Event
		var id, data sql.RawBytes
		if err := rows.Scan(&e.Seq, &id, &e.TS, &e.Type, &e.Ver, &e.Actor, &data); err != nil {
			return nil, fmt.Errorf("read message: %w", err)
		}
		if bytes+len(data) > maxBytes && len(list) > 0 {
			break
		}
		m := Message{Seq: e.Seq, At: e.TS, Redacted: data == nil, After: after}
		copy(m.Event[:], id)
		if e.Data = json.RawMessage(data); !m.Redacted {
			_ = json.Unmarshal(projections.Current(&e).Data, &m.Data) // a member of another type stays blank
		}
		if !wanted(&m) {
			continue
		}
		if err := budget.Take(ctx, timesHeld*int64(len(data))); err != nil {
			return nil, err
		}
		bytes += len(data)
		list = append(list, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	slices.Reverse(list)
	return list, markArchived(ctx, tx, list)
}

// askedWithin is how many messages after the request of a run are searched for the run's own.
const askedWithin = 1_000

// Asked returns the id of the message in a transcript with which the run requested by the event of seq began. It is ""
// if it is not among the next messages.
func Asked(ctx context.Context, tx *sql.Tx, id, runID string, seq int64) (string, error) {
	rows, err := tx.QueryContext(ctx, selectSaidAfter, seq, id, askedWithin)
	if err != nil {
		return "", fmt.Errorf("find message of a run: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e eventstore.Event
		var event, data sql.RawBytes
		if err := rows.Scan(&e.Seq, &event, &e.Type, &e.Ver, &data); err != nil {
			return "", fmt.Errorf("find message of a run: %w", err)
		}
		m := Message{Seq: e.Seq}
		copy(m.Event[:], event)
		if e.Data = json.RawMessage(data); len(e.Data) == 0 || json.Unmarshal(projections.Current(&e).Data, &m.Data) != nil {
			continue
		}
		if m.Data.RunID == runID && m.Data.Author == "user" {
			return m.ID(), nil
		}
	}
	return "", rows.Err()
}

// markArchived distinguishes archived messages from redacted ones.
func markArchived(ctx context.Context, tx *sql.Tx, list []Message) error {
	var blank []int64
	for i := range list {
		if list[i].Redacted {
			blank = append(blank, list[i].Seq)
		}
	}
	if len(blank) == 0 {
		return nil
	}
	archived, err := projections.Archived(ctx, tx, blank)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Archived = archived[list[i].Seq]
	}
	return nil
}

// ID returns the id given by the message's producer, otherwise its event's id.
func (m *Message) ID() string { return cmp.Or(m.Data.MessageID, m.Event.String()) }

// Transcript is the part of a session between two resets.
type Transcript struct {
	ID       string
	Key      string
	OpenedAt int64
	ClosedAt int64  // 0: the session's current one
	Closed   string // reason: new, reset, deleted
	Messages int64
}

// Transcripts lists the transcripts of a key, newest first. Those deleted with their session are not listed.
func Transcripts(ctx context.Context, tx *sql.Tx, key string) ([]Transcript, error) {
	return projections.ListRows(ctx, tx, "list transcripts", selectTranscripts, []any{key}, func(rows *sql.Rows, t *Transcript) error {
		return rows.Scan(&t.ID, &t.Key, &t.OpenedAt, &t.ClosedAt, &t.Closed, &t.Messages)
	})
}
