package index

import (
	"context"
	"database/sql"
)

const countSince = `SELECT coalesce(sum(h.n), 0) FROM facet_hours h JOIN facets f ON f.id = h.facet_id WHERE h.hour >= ? AND f.internal = 0`

// CountSince counts the events since a time in ms, including the whole hour that contains it. Our own families are
// left out.
func CountSince(ctx context.Context, tx *sql.Tx, since float64) (n int64, err error) {
	err = tx.QueryRowContext(ctx, countSince, Hour(since)).Scan(&n)
	return n, err
}
