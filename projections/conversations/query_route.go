package conversations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Route is the current conversation of two agents within a work session.
type Route struct {
	Key            string
	ConversationID string
	Time           float64 // time of the event that last changed the route, ms since 1970
	Seq            int64   // of that event
	LastEventType  string
	RunID          string // "" if no event has named one
}

const selectRoute = "SELECT conversation_id, time, seq, last_event_type, run_id FROM routes WHERE route_key = ?"

// LookupRoute returns the route between two agents, in either direction. Its cost does not depend on the length of the
// log. ok is false if they have not talked in the work session, or if one of the three is blank.
func LookupRoute(ctx context.Context, tx *sql.Tx, workSessionID, a, b string) (r Route, ok bool, err error) {
	if r.Key, ok = coordination.RouteKey(workSessionID, a, b); !ok {
		return Route{}, false, nil
	}
	err = tx.QueryRowContext(ctx, selectRoute, r.Key).Scan(&r.ConversationID, &r.Time, &r.Seq, &r.LastEventType, &r.RunID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Route{}, false, nil
	case err != nil:
		return Route{}, false, fmt.Errorf("look up route: %w", err)
	}
	return r, true, nil
}

// RouteOf is LookupRoute within the transaction that is going to append, so that the next sender finds what this one
// begins.
func RouteOf(tx eventstore.Tx, workSessionID, a, b string) (r Route, ok bool, err error) {
	key, named := coordination.RouteKey(workSessionID, a, b)
	if !named {
		return Route{}, false, nil
	}
	err = tx.Query(selectRoute, []any{key}, func(row eventstore.Row) error {
		r = Route{Key: key, ConversationID: row.Text(0), Time: row.Float(1), Seq: row.Int(2), LastEventType: row.Text(3), RunID: row.Text(4)}
		ok = true
		return nil
	})
	if err != nil {
		return Route{}, false, fmt.Errorf("look up route: %w", err)
	}
	return r, ok, nil
}
