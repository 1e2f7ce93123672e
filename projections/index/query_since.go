package index

import (
	"context"
	"database/sql"
)

const countSince = `SELECT coalesce(sum(h.n), 0) FROM facet_hours h JOIN facets f ON f.id = h.facet_id WHERE h.hour >= ? AND f.internal = ?`

// CountSince counts the events since a time in ms, including the whole hour that contains it: those of agents and people, and apart from
// them those of our own families.
func CountSince(ctx context.Context, tx *sql.Tx, since float64) (n, internal int64, err error) {
	if err = tx.QueryRowContext(ctx, countSince, Hour(since), 0).Scan(&n); err == nil {
		err = tx.QueryRowContext(ctx, countSince, Hour(since), 1).Scan(&internal)
	}
	return n, internal, err
}
