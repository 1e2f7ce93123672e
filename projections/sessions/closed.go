package sessions

import (
	"fmt"

	"github.com/pronto-lab/openclawd/eventstore"
)

const selectClosed = "SELECT 1 FROM session_transcripts WHERE session_id = ? AND closed <> '' AND closed_at >= ?"

// ClosedSince reports whether a transcript was closed, by a reset or with its session, at or after a time in ms since
// 1970. It is for the transaction that is going to append.
func ClosedSince(tx eventstore.Tx, id string, at int64) (closed bool, err error) {
	err = tx.Query(selectClosed, []any{id, at}, func(eventstore.Row) error {
		closed = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look up transcript: %w", err)
	}
	return closed, nil
}
