package session

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
	Redacted bool  // nothing is left of Data
	After    int64 // how many messages of the transcript come after it
	Archived bool  // an archive has it; there is nothing of it here either, but it was not redacted
	Data     coordination.SessionMessage
}

const (
	selectNewest = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id AND t.id > k.hidden
  JOIN session_messages m ON m.transcript_id = t.id JOIN events e ON e.seq = m.seq
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

// timesHeld is how often a message is in memory while it is shown: as it was read, as it is understood, and as it is written.
const timesHeld = 3

// Newest gives the newest messages of a transcript, the oldest of them first: at most limit, and none that would make their data exceed
// maxBytes, but always the newest.
func Newest(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return newest(ctx, tx, id, limit, maxBytes, func(*Message) bool { return true })
}

// Shown gives the newest messages that people are shown, as Newest does: without those of exchanges between agents.
func Shown(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int) ([]Message, error) {
	return newest(ctx, tx, id, limit, maxBytes, func(m *Message) bool { return !m.Data.Internal })
}

// maxPassed is how many messages that are not wanted are passed over, at most.
const maxPassed = 20_000

// newest gives the newest messages that are wanted. It reads no more of the transcript than it has to.
func newest(ctx context.Context, tx *sql.Tx, id string, limit, maxBytes int, wanted func(*Message) bool) ([]Message, error) {
	rows, err := tx.QueryContext(ctx, selectNewest, id)
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

// askedWithin is how many messages after a run was asked for are looked through for its own.
const askedWithin = 1_000

// Asked is the id of the message in a transcript with which a run began that was asked for by the event of seq. It is "" where there is none
// among the messages that came next.
func Asked(ctx context.Context, tx *sql.Tx, id, runID string, seq int64) (string, error) {
	rows, err := tx.QueryContext(ctx, selectSaidAfter, seq, id, askedWithin)
	if err != nil {
		return "", fmt.Errorf("find the message of a run: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e eventstore.Event
		var event, data sql.RawBytes
		if err := rows.Scan(&e.Seq, &event, &e.Type, &e.Ver, &data); err != nil {
			return "", fmt.Errorf("find the message of a run: %w", err)
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

// markArchived tells messages that were archived from those that were redacted.
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

// ID names the message: as whoever wrote it named it, else as its event is named.
func (m *Message) ID() string { return cmp.Or(m.Data.MessageID, m.Event.String()) }

// Transcript is what was said in a session between two resets.
type Transcript struct {
	ID       string
	Key      string
	OpenedAt int64
	ClosedAt int64  // 0: it is the session's present one
	Closed   string // why: new, reset, deleted
	Messages int64
}

// Transcripts lists those that a key has had, the newest first. What was deleted with its session is not listed.
func Transcripts(ctx context.Context, tx *sql.Tx, key string) (list []Transcript, err error) {
	rows, err := tx.QueryContext(ctx, selectTranscripts, key)
	if err != nil {
		return nil, fmt.Errorf("list transcripts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var t Transcript
		if err := rows.Scan(&t.ID, &t.Key, &t.OpenedAt, &t.ClosedAt, &t.Closed, &t.Messages); err != nil {
			return nil, fmt.Errorf("list transcripts: %w", err)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}
