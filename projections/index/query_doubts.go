package index

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/coordination"
)

// Doubts count the events of a log in which the classifier had to guess. Our own families, which always say what they are, are left out.
type Doubts struct {
	// UnknownSender and UnknownReceiver: events between agents whose session type on that side cannot be told.
	UnknownSender    int64 `json:"unknownSender"`
	UnknownReceiver  int64 `json:"unknownReceiver"`
	GuessedRoles     int64 `json:"guessedRoles"`     // events that did not say their role
	FallbackCategory int64 `json:"fallbackCategory"` // events in which nothing spoke for their category
}

const selectDoubts = `SELECT coalesce(sum(CASE WHEN role IN (?, ?) THEN from_unknown ELSE 0 END), 0),
 coalesce(sum(CASE WHEN role IN (?, ?) THEN to_unknown ELSE 0 END), 0), coalesce(sum(role_guessed), 0), coalesce(sum(category_fallback), 0)
 FROM facets WHERE internal = 0`

// CountDoubts adds up what the facets have counted: as many rows as there are combinations of role, type and category.
func CountDoubts(ctx context.Context, tx *sql.Tx) (d Doubts, err error) {
	main, sub := string(coordination.RoleConversation), string(coordination.RoleDelegation)
	err = tx.QueryRowContext(ctx, selectDoubts, main, sub, main, sub).
		Scan(&d.UnknownSender, &d.UnknownReceiver, &d.GuessedRoles, &d.FallbackCategory)
	return d, err
}
