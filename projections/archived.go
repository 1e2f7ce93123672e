package projections

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Both kinds of events are in their own streams, so few rows are read however long the log is.
const selectArchived = `SELECT DISTINCT j.value FROM streams s JOIN events e ON e.stream_id = s.id
  JOIN json_each(?) j ON j.value BETWEEN e.data ->> '$.first' AND e.data ->> '$.last'
 WHERE s.name = ? AND e.type = ? AND e.actor <> ? AND NOT EXISTS (
  SELECT 1 FROM streams rs JOIN events r ON r.stream_id = rs.id, json_each(r.data, '$.seqs') x
   WHERE rs.name > 'redaction/' AND rs.name < 'redaction0' AND r.type = ? AND r.actor <> ? AND x.value = j.value)`

// Archived selects, from events whose rows are blank, those that were archived and not redacted: an archive has their
// payloads.
func Archived(ctx context.Context, tx *sql.Tx, seqs []int64) (map[int64]bool, error) {
	list, err := json.Marshal(seqs)
	if err != nil {
		return nil, err
	}
	args := []any{string(list), coordination.ArchiveStream, coordination.TypeLogArchived, eventstore.ActorImport, coordination.TypeLogRedacted, eventstore.ActorImport}
	archived := map[int64]bool{}
	return archived, EachRow(ctx, tx, "find archived events", selectArchived, args, func(rows *sql.Rows) error {
		var seq int64
		err := rows.Scan(&seq)
		archived[seq] = true
		return err
	})
}
