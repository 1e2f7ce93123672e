package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const selectOverSeq = "SELECT over_seq FROM runs WHERE name = ?"

// OverSeq returns the seq of the event that ended a run; 0 while it is not over, or if there is no such run.
func OverSeq(ctx context.Context, tx *sql.Tx, runID string) (seq int64, err error) {
	err = tx.QueryRowContext(ctx, selectOverSeq, nameOf(runID)).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find the end of a run: %w", err)
	}
	return seq, nil
}

// Over returns the result of a run from the event that ended it; nil if its payload is redacted.
func Over(e *eventstore.Event) *coordination.RunOver {
	if e.Redacted() {
		return nil
	}
	return overOf(e.Type, e.Ver, e.Data)
}
