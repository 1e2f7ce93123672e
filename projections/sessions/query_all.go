package sessions

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectAllTranscripts = `SELECT t.session_id, k.name, t.opened_at, t.closed_at, t.closed, coalesce(s.messages, t.messages)
  FROM session_keys k JOIN session_transcripts t ON t.key_id = k.id AND t.id > k.hidden
  LEFT JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id
 WHERE (k.name, t.id) > (?, (SELECT coalesce(max(id), 0) FROM session_transcripts WHERE session_id = ?)) ORDER BY k.name, t.id LIMIT ?`

	selectMessagesAfter = `SELECT e.seq, e.id, e.ts, e.type, e.ver, e.actor, e.data
  FROM session_transcripts t JOIN session_messages m ON m.transcript_id = t.id AND m.seq > ? JOIN events e ON e.seq = m.seq
 WHERE t.session_id = ? ORDER BY m.seq LIMIT ?`
)

// TranscriptsAfter lists the transcripts of all sessions by key, the oldest of each first: at most limit, after the given one or from the
// beginning if that is the zero Transcript. Those deleted with their session are not listed.
func TranscriptsAfter(ctx context.Context, tx *sql.Tx, after Transcript, limit int) ([]Transcript, error) {
	return projections.ListRows(ctx, tx, "list all transcripts", selectAllTranscripts, []any{after.Key, after.ID, limit}, func(rows *sql.Rows, t *Transcript) error {
		return rows.Scan(&t.ID, &t.Key, &t.OpenedAt, &t.ClosedAt, &t.Closed, &t.Messages)
	})
}

// MessagesAfter lists messages of a transcript, the oldest first: at most limit, with a seq above the given one.
func MessagesAfter(ctx context.Context, tx *sql.Tx, id string, seq int64, limit int) ([]Message, error) {
	return projections.ListRows(ctx, tx, "read transcript", selectMessagesAfter, []any{seq, id, limit}, func(rows *sql.Rows, m *Message) error {
		read, err := scanMessage(rows)
		if err == nil {
			*m = read.message
		}
		return err
	})
}
