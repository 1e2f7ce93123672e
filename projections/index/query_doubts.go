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

// Doubt is one of the guesses that Doubts counts.
type Doubt string

const (
	DoubtSender   Doubt = "unknown_sender"
	DoubtReceiver Doubt = "unknown_receiver"
	DoubtRole     Doubt = "guessed_role"
	DoubtCategory Doubt = "fallback_category"
)

// AllDoubts lists the doubts by which events can be selected.
func AllDoubts() []Doubt { return []Doubt{DoubtSender, DoubtReceiver, DoubtRole, DoubtCategory} }

// of is the number of a facet's events with the doubt, as CountDoubts counts them.
func (d Doubt) of(f *facet) int64 {
	between := f.role == string(coordination.RoleConversation) || f.role == string(coordination.RoleDelegation)
	switch {
	case f.internal:
		return 0
	case d == DoubtRole:
		return f.roles
	case d == DoubtCategory:
		return f.categories
	case d == DoubtSender && between:
		return f.fromUnknown
	case d == DoubtReceiver && between:
		return f.toUnknown
	}
	return 0
}

// withDoubt selects the events of a list that have a doubt, apart from their role.
var withDoubt = map[Doubt]string{
	DoubtSender:   selectListed + "e.from_type = 'unknown'",
	DoubtReceiver: selectListed + "e.to_type = 'unknown'",
	DoubtRole:     selectListed + "e.role_guessed = 1",
	DoubtCategory: selectListed + "e.source = 'fallback'",
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
