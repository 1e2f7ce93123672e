package index

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
)

// Doubts counts the events of a log for which the classifier had to guess. Our own families, which are always
// explicit, are left out.
type Doubts struct {
	// UnknownSender and UnknownReceiver: events between agents whose session type on that side is unknown.
	UnknownSender    int64 `json:"unknownSender"`
	UnknownReceiver  int64 `json:"unknownReceiver"`
	GuessedRoles     int64 `json:"guessedRoles"`     // events without an explicit role
	FallbackCategory int64 `json:"fallbackCategory"` // events without evidence for their category
}

const selectDoubts = `SELECT coalesce(sum(CASE WHEN role IN (?, ?) THEN from_unknown ELSE 0 END), 0),
 coalesce(sum(CASE WHEN role IN (?, ?) THEN to_unknown ELSE 0 END), 0), coalesce(sum(role_guessed), 0), coalesce(sum(category_fallback), 0)
 FROM facets WHERE internal = 0`

// CountDoubts sums the counts of the facets: as many rows as there are combinations of role, type and category.
func CountDoubts(ctx context.Context, tx *sql.Tx) (d Doubts, err error) {
	main, sub := string(coordination.RoleConversation), string(coordination.RoleDelegation)
	err = tx.QueryRowContext(ctx, selectDoubts, main, sub, main, sub).
		Scan(&d.UnknownSender, &d.UnknownReceiver, &d.GuessedRoles, &d.FallbackCategory)
	return d, err
}
