package routing

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Mark is the last message of a place that was decided about, or, in a thread without one, the thread itself: later
// messages may not have been received.
type Mark struct {
	PlaceID       string
	GuildID       string // "" in direct messages
	AccountID     string // in direct messages the bot; otherwise "": every bot that sees the place
	LastMessageID string
}

// Query of Marks.
const (
	markSpan = 7 * 24 * time.Hour
	maxMarks = 1_000
)

const selectMarks = `SELECT p.place_id, p.guild_id, p.account_id, CASE p.last_id WHEN '' THEN p.place_id ELSE p.last_id END FROM discord_places p
 WHERE p.last_at >= (SELECT max(last_at) FROM discord_places) - ? AND (p.last_id <> '' OR p.thread = 1) AND (p.guild_id <> '' OR p.account_id <> '')
 ORDER BY p.last_at DESC LIMIT ?`

// Marks returns those of the places with a message within a week before the newest message anywhere, most recent
// first; at most 1,000.
func Marks(ctx context.Context, tx *sql.Tx) (marks []Mark, err error) {
	err = projections.Reading(ctx, tx).Query(selectMarks, []any{markSpan.Milliseconds(), maxMarks}, func(r eventstore.Row) error {
		m := Mark{PlaceID: r.Text(0), GuildID: r.Text(1), LastMessageID: r.Text(3)}
		if m.GuildID == "" {
			m.AccountID = r.Text(2)
		}
		marks = append(marks, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the last messages of places: %w", err)
	}
	return marks, nil
}
